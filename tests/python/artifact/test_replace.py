"""What a kill, another writer or an old file system may do while a directory is replaced."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from polystate.artifact import Manifest, replace, write_artifact
from polystate.errors import ArtifactError

Files = dict[str, bytes]

# Replaces the artifact at argv[1] over and over, and tells of the first time; every version's
# program repeats one byte.
WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from polystate.artifact import Manifest, replace, write_artifact
from polystate.artifact.manifest import Program
if sys.argv[2] == "rename aside":
    replace._exchange = lambda first, second: False
program = Program("executorch", "model.pte", "portable", None, [], [])
manifest = Manifest({}, program, {}, {}, [], [])
for count in range(1_000_000):
    write_artifact(Path(sys.argv[1]), manifest, {"model.pte": bytes([count % 256]) * 300_000})
    if count == 0:
        print("ready", flush=True)
"""


def no_exchange(first: Path, second: Path) -> bool:
    return False


def is_whole(artifact: Path) -> bool:
    program = (artifact / "model.pte").read_bytes()
    names = {path.name for path in artifact.iterdir()}
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"],
        cwd=artifact,
        capture_output=True,
    )
    complete = names == {"SHA256SUMS", "manifest.json", "model.pte"}
    return complete and len(set(program)) == 1 and len(program) == 300_000 and done.returncode == 0


def siblings(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("way", ["exchange", "rename aside"])
def test_a_killed_writer_leaves_the_old_artifact_or_the_new_one(
    tmp_path: Path, manifest: Manifest, files: Files, way: str
) -> None:
    out = tmp_path / "a"
    chance = random.Random(0)
    kept_beside = 0
    for _ in range(25):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(out), way, *sys.path],
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
        time.sleep(chance.random() * 0.05)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        if not out.exists():  # between the two renames: the next save puts it back
            [old] = [name for name in siblings(tmp_path) if ".polystate-old-" in name]
            assert is_whole(tmp_path / old)
            kept_beside += 1
        else:
            assert is_whole(out)
        assert len(siblings(tmp_path)) <= 2
    assert kept_beside == 0 or way == "rename aside"
    write_artifact(out, manifest, files)
    assert siblings(tmp_path) == []


def test_writers_of_one_artifact_do_not_disturb_each_other(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    failures: list[BaseException] = []

    def write(tag: bytes) -> None:
        try:
            for _ in range(20):
                write_artifact(tmp_path / "a", manifest, {**files, "model.pte": tag * 50_000})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(tag,)) for tag in (b"1", b"2", b"3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert len(set((tmp_path / "a/model.pte").read_bytes())) == 1


def test_an_old_artifact_that_was_left_aside_is_put_back_first(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    out = tmp_path / "a"
    write_artifact(out, manifest, files)
    out.rename(tmp_path / ".a.polystate-old-0123456789abcdef")
    with pytest.raises(KeyboardInterrupt), replace.replacing(out, lambda path: None):
        raise KeyboardInterrupt
    assert (out / "model.pte").read_bytes() == files["model.pte"]
    assert siblings(tmp_path) == []


def test_a_sibling_that_a_living_writer_fills_is_left_alone(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    with replace.replacing(tmp_path / "a", lambda path: None) as staged:
        (staged / "half").write_bytes(b"written")
        write_artifact(tmp_path / "b", manifest, files)
        write_artifact(tmp_path / "a", manifest, files)
        assert (staged / "half").read_bytes() == b"written"


def test_only_siblings_of_the_same_artifact_are_removed(
    tmp_path: Path, manifest: Manifest, files: Files
) -> None:
    ours, others = ".a.polystate-new-00", [".ab.polystate-new-00", ".a.polystate-other", ".a"]
    for name in (ours, *others):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
    write_artifact(tmp_path / "a", manifest, files)
    assert sorted(siblings(tmp_path)) == sorted(others)


@pytest.mark.parametrize("exchange", [True, False])
def test_a_file_that_appears_while_writing_is_not_lost(
    tmp_path: Path,
    manifest: Manifest,
    files: Files,
    exchange: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not exchange:
        monkeypatch.setattr(replace, "_exchange", no_exchange)
    out = tmp_path / "a"
    write_artifact(out, manifest, files)
    real_create = replace._create_sibling

    def create_while_the_user_adds_a_file(target: Path) -> tuple[Path, int]:
        (target / "notes").write_text("of the user")
        return real_create(target)

    monkeypatch.setattr(replace, "_create_sibling", create_while_the_user_adds_a_file)
    with pytest.raises(ArtifactError, match="it holds 'notes'"):
        write_artifact(out, manifest, {**files, "model.pte": b"new"})
    assert (out / "notes").read_text() == "of the user"
    assert (out / "model.pte").read_bytes() == files["model.pte"]
    assert siblings(tmp_path) == []


def test_a_failed_second_rename_puts_the_old_artifact_back(
    tmp_path: Path, manifest: Manifest, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a"
    write_artifact(out, manifest, files)
    monkeypatch.setattr(replace, "_exchange", no_exchange)
    real_rename = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if ".polystate-new-" in self.name and not target.exists():
            raise OSError(5, "Input/output error")
        return real_rename(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="Input/output error"):
        write_artifact(out, manifest, {**files, "model.pte": b"new"})
    assert (out / "model.pte").read_bytes() == files["model.pte"]
    assert siblings(tmp_path) == []


def test_no_descriptor_stays_open(tmp_path: Path, manifest: Manifest, files: Files) -> None:
    write_artifact(tmp_path / "a", manifest, files)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(5):
        write_artifact(tmp_path / "a", manifest, files)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
