from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import pickle
import resource
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from polystate.artifact import (
    FileContent,
    Manifest,
    check_destination,
    write_artifact,
    write_temporary_artifact,
)
from polystate.errors import ArtifactError, IoError

Files = dict[str, bytes]


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_manifest_states_the_size_of_every_other_file(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    write_artifact(tmp_path / "a", manifest, files)
    written = json.loads((tmp_path / "a/manifest.json").read_bytes())
    assert written == {**manifest.to_json(), "files": {"golden.npz": 5, "model.pte": 7000}}


def test_the_digests_are_those_of_sha256sum_sorted_by_name(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    write_artifact(tmp_path / "a", manifest, {**files, "a-1_B.txt": b"", "Z": b"z"})
    found = content(tmp_path / "a")
    sums = found.pop("SHA256SUMS").decode("ascii")
    assert list(found) != [] and sorted(found) == [
        "Z", "a-1_B.txt", "golden.npz", "manifest.json", "model.pte",
    ]  # fmt: skip
    assert sums == "".join(
        f"{hashlib.sha256(found[name]).hexdigest()}  {name}\n" for name in sorted(found)
    )


def test_the_same_content_gives_the_same_bytes(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    write_artifact(tmp_path / "a", manifest, files)
    write_artifact(tmp_path / "b", manifest, dict(reversed(files.items())))
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_content_in_a_temporary_file_is_written_as_often_as_is_asked_for(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    large = bytes(range(256)) * 10_000
    kept = FileContent(lambda file: file.write(large))
    write_artifact(tmp_path / "a", manifest, {**files, "model.pte": large})
    for name, content_of in {"b": kept, "c": kept, "d": pickle.loads(pickle.dumps(kept))}.items():
        write_artifact(tmp_path / name, manifest, {**files, "model.pte": content_of})
        assert content(tmp_path / name) == content(tmp_path / "a")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileContent:
    """Content in a temporary file on the disk of the artifacts."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return FileContent(lambda file: file.write(bytes(7000)))


def test_a_temporary_file_becomes_part_of_the_first_artifact_and_is_copied_into_others(
    tmp_path: Path, manifest: Manifest, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    numbers = []

    def fill(file: IO[bytes]) -> None:
        file.write(bytes(7000))
        numbers.append(os.fstat(file.fileno()).st_ino)

    all_files = {**files, "model.pte": FileContent(fill)}
    for name in ("read", "a", "b"):
        (tmp_path / name).mkdir()
    write_temporary_artifact(tmp_path / "read", manifest, all_files)
    write_artifact(tmp_path / "a", manifest, all_files)
    write_artifact(tmp_path / "b", manifest, all_files)
    assert content(tmp_path / "read") == content(tmp_path / "a") == content(tmp_path / "b")
    is_it = {name: (tmp_path / name / "model.pte").stat().st_ino in numbers for name in "ab"}
    assert is_it == {"a": True, "b": False}


def test_what_was_changed_in_the_first_artifact_is_not_saved_again(
    tmp_path: Path, manifest: Manifest, files: Files, kept: FileContent
) -> None:
    write_artifact(tmp_path / "a", manifest, {**files, "model.pte": kept})
    with (tmp_path / "a/model.pte").open("r+b") as file:
        file.write(b"another")
    with pytest.raises(ArtifactError, match=r"'model\.pte' was changed .* export it again"):
        write_artifact(tmp_path / "b", manifest, {**files, "model.pte": kept})
    assert names(tmp_path) == ["a"]


def test_missing_parents_are_created(tmp_path: Path, manifest: Manifest, files: Files) -> None:
    write_artifact(tmp_path / "models/new/a", manifest, files)
    assert "model.pte" in names(tmp_path / "models/new/a")


def test_an_older_artifact_is_replaced_as_a_whole(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    write_artifact(tmp_path / "a", manifest, {**files, "tokenizer.json": b"{}"})
    write_artifact(tmp_path / "a", manifest, {**files, "model.pte": b"new"})
    assert names(tmp_path / "a") == ["SHA256SUMS", "golden.npz", "manifest.json", "model.pte"]
    assert (tmp_path / "a/model.pte").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_a_damaged_artifact_of_ours_is_replaced(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    write_artifact(tmp_path / "a", manifest, files)
    (tmp_path / "a/model.pte").unlink()
    write_artifact(tmp_path / "a", manifest, files)
    assert (tmp_path / "a/model.pte").read_bytes() == files["model.pte"]


def test_an_empty_directory_is_replaced(tmp_path: Path, manifest: Manifest, files: Files) -> None:
    (tmp_path / "a").mkdir()
    write_artifact(tmp_path / "a", manifest, files)
    assert "model.pte" in names(tmp_path / "a")


def refused(out: Path, manifest: Manifest, files: Files) -> str:
    """The message of a refusal, which changed nothing, early or late."""
    before = sorted(out.parent.rglob("*"))
    with pytest.raises(ArtifactError) as late:
        write_artifact(out, manifest, files)
    with pytest.raises(ArtifactError) as early:
        check_destination(out)
    assert str(early.value) == str(late.value)
    assert sorted(out.parent.rglob("*")) == before
    return str(late.value)


def test_a_file_is_never_replaced(tmp_path: Path, manifest: Manifest, files: Files) -> None:
    (tmp_path / "a").write_text("notes")
    assert refused(tmp_path / "a", manifest, files).endswith("/a' is not replaced: it is a file")
    assert (tmp_path / "a").read_text() == "notes"


def test_a_directory_without_a_manifest_is_never_replaced(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/thesis.tex").write_text("years of work")
    assert "it holds files, but no artifact" in refused(tmp_path / "a", manifest, files)


def test_another_programs_manifest_is_never_replaced(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/manifest.json").write_text('{"name": "a browser extension"}')
    (tmp_path / "a/SHA256SUMS").write_text("")
    assert "is not polystate's" in refused(tmp_path / "a", manifest, files)


@pytest.mark.parametrize("directory", [False, True])
def test_an_artifact_with_something_of_the_users_in_it_is_never_replaced(
    tmp_path: Path, manifest: Manifest, files: Files, directory: bool
) -> None:
    write_artifact(tmp_path / "a", manifest, files)
    added = tmp_path / "a/notes"
    if directory:
        added.mkdir()
    else:
        added.write_text("of the user")
    message = refused(tmp_path / "a", manifest, files)
    assert "it holds 'notes', which is not part of the artifact" in message


def test_a_symbolic_link_stays_and_leads_to_the_new_artifact(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    (tmp_path / "disk").mkdir()
    write_artifact(tmp_path / "disk/v1", manifest, files)
    (tmp_path / "current").symlink_to("disk/v1")
    write_artifact(tmp_path / "current", manifest, {**files, "model.pte": b"new"})
    assert (tmp_path / "current").readlink() == Path("disk/v1")
    assert (tmp_path / "disk/v1/model.pte").read_bytes() == b"new"
    assert names(tmp_path) == ["current", "disk"]
    assert names(tmp_path / "disk") == ["v1"]


def test_a_symbolic_link_in_a_loop_is_refused(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    refused(tmp_path / "a", manifest, files)


@pytest.mark.parametrize(
    "name", ["../up", "a/b", ".hidden", "", "manifest.json", "SHA256SUMS", "é", "a\n"]
)
def test_a_bad_file_name_is_refused(
    tmp_path: Path, manifest: Manifest, files: Files, name: str
) -> None:
    with pytest.raises(ArtifactError, match="cannot be a file of an artifact"):
        write_artifact(tmp_path / "a", manifest, {**files, name: b""})
    assert names(tmp_path) == []


def test_a_manifest_that_names_a_missing_file_is_refused(
    tmp_path: Path, manifest: Manifest
) -> None:
    with pytest.raises(ArtifactError, match=r"program.file is 'model.pte'; the files are \['g"):
        write_artifact(tmp_path / "a", manifest, {"golden.npz": b""})
    with pytest.raises(ArtifactError, match=r"golden.file is 'golden.npz'"):
        write_artifact(tmp_path / "a", manifest, {"model.pte": b""})


@pytest.mark.parametrize("value", [float("nan"), 1j, "\ud800"])
def test_a_constant_that_json_cannot_hold_is_refused(
    tmp_path: Path, manifest: Manifest, files: Files, value: object
) -> None:
    bad = dataclasses.replace(manifest, constants={"x": value})  # type: ignore[dict-item]
    with pytest.raises(ArtifactError, match="the manifest cannot be written as JSON"):
        write_artifact(tmp_path / "a", bad, files)
    assert names(tmp_path) == []


@pytest.fixture
def small_files_only() -> Iterator[None]:
    """A limit on the size of a file, which fails writes as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.usefixtures("small_files_only")
def test_a_full_disk_leaves_the_old_artifact_and_nothing_else(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    write_artifact(tmp_path / "a", manifest, files)
    before = content(tmp_path / "a")
    for out in (tmp_path / "a", tmp_path / "b"):
        with pytest.raises(IoError, match="cannot write the artifact") as failure:
            write_artifact(out, manifest, {**files, "model.pte": bytes(1 << 20)})
        assert failure.value.errno == errno.EFBIG
    assert content(tmp_path / "a") == before
    assert names(tmp_path) == ["a"]


def test_a_parent_that_is_a_file_is_an_error_of_the_file_system(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IoError):
        write_artifact(tmp_path / "file/a", manifest, files)


@pytest.mark.usefixtures("small_files_only")
def test_a_full_disk_for_temporary_files_is_an_error_that_says_how_to_choose_another() -> None:
    with pytest.raises(IoError, match=r"temporary file in .*TMPDIR") as failure:
        FileContent(lambda file: file.write(bytes(1 << 20)))
    assert failure.value.errno == errno.EFBIG


def test_the_artifact_has_the_permissions_that_the_user_asks_for(
    tmp_path: Path, manifest: Manifest, files: Files, kept: FileContent
) -> None:
    old = os.umask(0o027)
    try:
        write_artifact(tmp_path / "a", manifest, {**files, "notes.bin": kept})
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o750
    for name in ("model.pte", "notes.bin"):
        assert (tmp_path / "a" / name).stat().st_mode & 0o777 == 0o640
