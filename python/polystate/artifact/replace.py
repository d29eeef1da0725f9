"""A directory that takes its place as a whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from polystate.errors import ArtifactError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2

# Says why a directory must not be replaced and removed, or None when it may.
Objection = Callable[[Path], str | None]


@contextlib.contextmanager
def replacing(target: Path, objection: Objection) -> Iterator[Path]:
    """Give an empty directory beside ``target``, which takes its place when the block ends well.

    A process that is killed at any moment leaves the old directory or the new one, and at most a
    sibling that the next call removes. (Where the file system cannot exchange two directories, a
    kill between two renames leaves the old one under a sibling's name; the next call puts it back
    first.) After an exception, too, the old directory or the new one stands there.

    Parameters
    ----------
    target
        An absolute path without symbolic links: absent, an empty directory, or a directory that
        ``objection`` lets go. The parent exists.
    objection
        Asked again before anything that stood at ``target`` is removed.

    Raises
    ------
    OSError
        Where the file system fails.
    ArtifactError
        ``target`` holds something by now that ``objection`` does not let go.
    """
    _remove_stale_siblings(target, objection)
    staged, lock = _create_sibling(target)
    try:
        yield staged
        _sync(staged)
        try:
            staged.rename(target)  # never replaces more than an empty directory
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            _swap(staged, target, objection)
        _sync(target.parent)
    except BaseException:
        _remove_files(staged)
        raise
    finally:
        _unlock(lock)


def _swap(staged: Path, target: Path, objection: Objection) -> None:
    """Let ``staged`` take the place of ``target``, and remove what stood there."""
    lock = _lock_current(target)
    try:
        reason = objection(target)
        if reason is not None:
            raise ArtifactError(f"'{target}' is not replaced: {reason}")
        old = _sibling_name(target, "old")
        if _exchange(staged, target):
            staged.rename(old)
        else:
            _rename_aside(staged, target, old)
        if objection(old) is None:  # nobody put a file of theirs there meanwhile
            _remove_old(old, target)
    finally:
        _unlock(lock)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two directories atomically; False where this system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = os.fsencode(first), os.fsencode(second)
    if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(_RENAME_EXCHANGE)) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(second))


def _rename_aside(staged: Path, target: Path, old: Path) -> None:
    """Rename ``target`` to ``old``, then ``staged`` to ``target``; undo the first if that fails."""
    target.rename(old)
    try:
        staged.rename(target)
    except BaseException:
        old.rename(target)
        raise


# Siblings are ".<name>.polystate-new-<token>", which may always be removed, and "...-old-<token>",
# which holds what stood at the target. The process that works on one holds its lock, which the
# system frees when the process dies: a sibling whose lock is free is stale.


def _create_sibling(target: Path) -> tuple[Path, int]:
    """Create a directory beside ``target``; returns it and the descriptor that locks it."""
    while True:
        path = _sibling_name(target, "new")
        path.mkdir()
        try:
            return path, _lock_current(path)
        except FileNotFoundError:
            continue  # another process took it for stale before it was locked
        except BaseException:
            _remove_files(path)
            raise


def _remove_stale_siblings(target: Path, objection: Objection) -> None:
    for path in _siblings(target, "new"):
        with contextlib.suppress(OSError), _locked_if_free(path):
            _remove_files(path)
    for path in _siblings(target, "old"):
        with contextlib.suppress(OSError), _locked_if_free(path):
            if not os.path.lexists(target):
                path.rename(target)
            elif objection(path) is None:
                _remove_old(path, target)


def _siblings(target: Path, kind: Literal["new", "old"]) -> list[Path]:
    """List the siblings that belong to this user."""
    prefix = f".{target.name}.polystate-{kind}-"
    found = []
    for path in target.parent.iterdir():
        if path.name.startswith(prefix):
            with contextlib.suppress(FileNotFoundError):
                status = path.lstat()
                if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                    found.append(path)
    return found


def _sibling_name(target: Path, kind: Literal["new", "old"]) -> Path:
    return target.with_name(f".{target.name}.polystate-{kind}-{secrets.token_hex(8)}")


@contextlib.contextmanager
def _locked_if_free(directory: Path) -> Iterator[None]:
    """Lock a directory; BlockingIOError where another process holds it."""
    lock = _lock_current(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield
    finally:
        _unlock(lock)


def _lock_current(directory: Path, operation: int = fcntl.LOCK_EX) -> int:
    """Lock the directory of this name, also when another one takes the name meanwhile."""
    while True:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _flock(descriptor, operation)
            if os.path.samestat(directory.lstat(), os.fstat(descriptor)):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _flock(descriptor: int, operation: int) -> None:
    try:
        fcntl.flock(descriptor, operation)
    except OSError:
        if operation & fcntl.LOCK_NB:
            raise
        # The file system has no locks; then nobody will take the directory for stale either.


def _unlock(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for children that were forked meanwhile
    os.close(descriptor)


def _remove_old(old: Path, target: Path) -> None:
    """Remove a directory that ``objection`` let go; after a kill the next call goes on with it."""
    _remove_files(old.rename(_sibling_name(target, "new")))


def _remove_files(directory: Path) -> None:
    """Remove a directory of plain files; what is not one stays, and then the directory too."""
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            with contextlib.suppress(OSError):
                if stat.S_ISREG(path.lstat().st_mode):
                    path.unlink()
        directory.rmdir()


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
