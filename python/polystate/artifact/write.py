"""Writes artifacts (docs/artifact.md)."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from polystate.artifact.file_content import FileContent
from polystate.artifact.manifest import Manifest
from polystate.artifact.replace import replacing
from polystate.errors import ArtifactError, IoError

_MANIFEST = "manifest.json"
_SUMS = "SHA256SUMS"
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_SUMS_LINE = re.compile(r"[0-9a-f]{64}  ([A-Za-z0-9_-][A-Za-z0-9._-]*)\n")


def write_artifact(out: Path, manifest: Manifest, files: Mapping[str, bytes | FileContent]) -> None:
    """Write an artifact directory, which appears as a whole or not at all.

    The same arguments give the same bytes. The first artifact on the disk of a temporary file takes
    that file itself; all else is copied. A kill at any moment leaves the old artifact or the
    new one, and at most a hidden sibling that the next call removes.

    Parameters
    ----------
    out
        Where the directory goes. What stands there already is replaced if it is an empty
        directory, or an older artifact and nothing besides; anything else is refused. A symbolic
        link is followed. Missing parents are created.
    manifest
        ``files`` is filled in here: any sizes that it holds are ignored.
    files
        The content of every other file by name.

    Raises
    ------
    ArtifactError
        ``out`` must not be replaced, or the manifest does not fit ``files``. Nothing was written.
    IoError
        The file system failed. What was at ``out`` is still there.
    """
    _check_files(manifest, files)
    target = check_destination(out)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, _why_foreign) as staged:
            _fill(staged, manifest, files, _write)
    except OSError as error:
        detail = str(error).removeprefix(f"[Errno {error.errno}] ")
        raise IoError(error.errno, f"cannot write the artifact '{out}': {detail}") from error


def write_temporary_artifact(
    directory: Path, manifest: Manifest, files: Mapping[str, bytes | FileContent]
) -> None:
    """Write an artifact that is read now and then removed: nothing waits for the disk.

    Parameters
    ----------
    directory
        Empty.
    manifest, files
        As for :func:`write_artifact`.

    Raises
    ------
    ArtifactError
        The manifest does not fit ``files``.
    IoError
        The file system failed.
    """
    _check_files(manifest, files)
    try:
        _fill(directory, manifest, files, _copy)
    except OSError as error:
        detail = f"cannot write into '{directory}': {error.strerror}"
        raise IoError(error.errno, f"{detail}; TMPDIR may name another folder") from error


def check_destination(out: Path) -> Path:
    """Refuse what :func:`write_artifact` would refuse to replace, before long work is done for it.

    Returns
    -------
    Path
        The directory itself, absolute and without symbolic links.

    Raises
    ------
    ArtifactError
        With the reason.
    """
    try:
        target = Path(os.path.realpath(out))
        reason = _why_kept(target)
    except (OSError, ValueError) as error:
        raise ArtifactError(f"'{out}' cannot be an artifact: {error}") from error
    if reason is not None:
        raise ArtifactError(f"'{out}' is not replaced: {reason}")
    return target


def _why_kept(target: Path) -> str | None:
    """Why what stands at a path must stay; None when nothing of worth does."""
    if not os.path.lexists(target):
        return None
    if not target.is_dir():
        return "it is a file"
    return _why_foreign(target) if any(target.iterdir()) else None


def _why_foreign(directory: Path) -> str | None:
    """Why a directory is no artifact and nothing besides; None when it is one."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_bytes())
        sums = (directory / _SUMS).read_text(encoding="ascii")
        present = {path.name for path in directory.iterdir()}
    except (OSError, ValueError, RecursionError):
        return "it holds files, but no artifact"
    if not isinstance(manifest, dict) or manifest.get("format") != "polystate":
        return f"its {_MANIFEST} is not polystate's"
    strangers = sorted(present - {_SUMS, *_SUMS_LINE.findall(sums)})
    if strangers:
        return f"it holds '{strangers[0]}', which is not part of the artifact"
    return None


def _check_files(manifest: Manifest, files: Mapping[str, bytes | FileContent]) -> None:
    for name in files:
        if not _FILE_NAME.fullmatch(name) or name in (_MANIFEST, _SUMS):
            raise ArtifactError(
                f"'{name}' cannot be a file of an artifact: names are letters, digits, '.', '_' "
                f"and '-', do not start with '.', and {_MANIFEST} and {_SUMS} are taken"
            )
    needed = {"program": manifest.program.file}
    if manifest.golden is not None:
        needed["golden"] = manifest.golden.file
    for key, name in needed.items():
        if name not in files:
            raise ArtifactError(
                f"the manifest's {key}.file is '{name}'; the files are {sorted(files)}"
            )


def _fill(
    directory: Path,
    manifest: Manifest,
    files: Mapping[str, bytes | FileContent],
    write: Callable[[Path, bytes | FileContent], tuple[int, str]],
) -> None:
    """Make every file of an artifact in an empty directory.

    Parameters
    ----------
    write
        Makes one; returns its size and its SHA-256 in hex.
    """
    sizes, digests = {}, {}
    for name in sorted(files):
        sizes[name], digests[name] = write(directory / name, files[name])
    text = _to_text(dataclasses.replace(manifest, files=sizes))
    digests[_MANIFEST] = write(directory / _MANIFEST, text)[1]
    sums = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
    write(directory / _SUMS, sums.encode("ascii"))


def _to_text(manifest: Manifest) -> bytes:
    try:
        text = json.dumps(manifest.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode()
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"the manifest cannot be written as JSON: {error}") from error


def _write(path: Path, content: bytes | FileContent) -> tuple[int, str]:
    """Write and sync a new file; returns its size and its SHA-256 in hex."""
    if isinstance(content, FileContent) and content.move_to(path):
        path.chmod(path.parent.stat().st_mode & 0o666)  # as of files that are written there
        written = _read(path, content)
    else:
        written = _copy(path, content)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return written


def _copy(path: Path, content: bytes | FileContent) -> tuple[int, str]:
    """Write a new file; returns its size and its SHA-256 in hex."""
    with path.open("xb") as file:
        return _read(path, content, file.write)


def _read(
    path: Path, content: bytes | FileContent, take: Callable[[bytes], object] | None = None
) -> tuple[int, str]:
    """Read all of what a file is to have, for `take`; returns its size and its SHA-256 in hex."""
    size, digest = 0, hashlib.sha256()
    for chunk in [content] if isinstance(content, bytes) else content.chunks():
        if take is not None:
            take(chunk)
        digest.update(chunk)
        size += len(chunk)
    if isinstance(content, FileContent) and not content.is_as_before(digest.hexdigest()):
        raise ArtifactError(
            f"'{path.name}' was changed in the artifact that the program was saved as first; "
            f"export it again"
        )
    return size, digest.hexdigest()
