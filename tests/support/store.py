"""Keeps what tests export, for all tests, later runs and other clones.

A folder lies in the user's cache under the digest of all that it is made from, so that a change of
any of that makes another one. Those that were not asked for the longest go first where the cache
is full.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tools import account, user_cache

_DIGESTS = "KEPT"  # says what made the others, and lists them with their digests
_MAKER = 16  # letters of a maker that the name of a folder has
_LOCK = ".lock"
_NEW = "new-"  # how the names of folders begin that are being made
_LIMIT = 4 << 30  # bytes
_IN_USE = 3 * 3600  # seconds: longer than any run


class Store:
    """Folders by digest.

    Parameters
    ----------
    folder
        Where they lie; None: nothing outlives the process.
    maker
        What makes them and shows in nothing of them: an extension that checks what it exports. Each
        has folders of its own, so that two clones do not make one in turns.
    limit
        How many bytes they may have together.
    content
        What a folder has, for the account.
    takes_any
        Takes what another maker made, too.
    """

    def __init__(
        self,
        folder: Path | None,
        maker: str = "",
        limit: int = _LIMIT,
        content: str = "export",
        *,
        takes_any: bool = False,
    ) -> None:
        self._content = content
        self._maker = maker
        self._keeps = folder is not None
        self._takes_any = takes_any
        self._folder = folder or Path(tempfile.mkdtemp(prefix="polystate-tests-"))
        self._limit = limit
        self._seen: dict[str, Path] = {}  # by digest
        self._held: set[str] = set()  # digests whose locks this process has
        self._unchecked = limit  # bytes that were made since the limit was looked at, at most
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._keeps:
            atexit.register(_remove, self._folder, os.getpid())

    @staticmethod
    def of_user(maker: str = "") -> Store:
        """The store in the user's cache; POLYSTATE_CACHE names another, or none where empty.

        POLYSTATE_ANY_MAKER takes what any maker made: a run for which it is enough that tests run
        artifacts with the extension as it is.
        """
        takes_any = bool(os.environ.get("POLYSTATE_ANY_MAKER"))
        return Store(user_cache.folder("exports"), maker, takes_any=takes_any)

    def get(self, digest: str, make: Callable[[Path], object]) -> Path:
        """The folder of a digest. ``make`` fills it if it is missing or damaged.

        Who comes first makes it; other processes wait meanwhile. Tests only read it.
        """
        if digest in self._seen:
            return self._seen[digest]
        begin = time.monotonic()
        with self._locked(digest):
            path = next(filter(self._has, self._places(digest)), None)
            is_kept = path is not None
            if path is None:
                path = self._places(digest)[0]
                self._make(path, make)
            os.utime(path)
        how, seconds = "kept" if is_kept else "made", time.monotonic() - begin
        test = os.environ.get("PYTEST_CURRENT_TEST", "C++ tests (fixtures)")
        account.note(self._content, how, seconds, test.rpartition(" ")[0])
        self._seen[digest] = path
        if self._keeps and not is_kept:
            self._unchecked += _bytes(path)
            if self._unchecked > self._limit // 64:  # looking takes half a second
                self._unchecked = 0
                self._prune()
        return path

    def _places(self, digest: str) -> list[Path]:
        """Where the folder of a digest may be; the first is where this store makes it."""
        own = self._folder / f"{digest}-{self._maker[:_MAKER]}".rstrip("-")
        if not self._takes_any:
            return [own]
        return [own, *(path for path in self._folder.glob(f"{digest}-*") if path != own)]

    def _make(self, path: Path, make: Callable[[Path], object]) -> None:
        shutil.rmtree(path, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=_NEW) as new:
            made = Path(new) / "made"
            made.mkdir()
            make(made)
            (made / _DIGESTS).write_text(f"{self._maker}\n{_digests(made)}")
            made.rename(path)

    def _has(self, path: Path) -> bool:
        try:
            maker, _, digests = (path / _DIGESTS).read_text().partition("\n")
        except OSError:
            return False
        return (self._takes_any or self._maker == maker) and digests == _digests(path)

    def _prune(self) -> None:
        """Removes the folders that were not asked for the longest, as far as they are too many.

        A folder that was asked for lately stays: another process may be reading it. What processes
        that were killed had begun goes, too, and so do the locks of what is no longer there.
        """
        asked: dict[Path, float] = {}
        locks: list[Path] = []
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process removes it
                if (path / _DIGESTS).is_file():
                    asked[path] = path.stat().st_mtime
                elif path.name.startswith(_NEW) and not _is_in_use(path):
                    shutil.rmtree(path, ignore_errors=True)
                elif path.suffix == _LOCK and not _is_in_use(path):
                    locks.append(path)
        room = self._limit
        seen = set(self._seen.values())
        for path in sorted(asked, key=lambda path: -asked[path]):
            room -= _bytes(path)
            is_held = _digest_of(path) in self._held
            if room < 0 and path not in seen and not is_held and not _is_in_use(path):
                with self._locked(_digest_of(path)):
                    if not _is_in_use(path):  # another process may have asked for it meanwhile
                        shutil.rmtree(path, ignore_errors=True)
        there = {_digest_of(path) for path in asked if path.exists()}
        for lock in locks:
            if lock.stem not in there and lock.stem not in self._held:
                with self._locked(lock.stem):
                    lock.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self, digest: str) -> Iterator[None]:
        """Keeps other processes from a digest's folders. Who has the lock may remove its file."""
        path = self._folder / f"{digest}{_LOCK}"
        with contextlib.ExitStack() as held:
            lock = held.enter_context(path.open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            while not _is_at(path, lock.fileno()):  # it was removed while this process waited
                lock = held.enter_context(path.open("w"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._held.add(digest)
            held.callback(self._held.discard, digest)
            yield


def _remove(folder: Path, process: int) -> None:
    """Removes a folder when the process ends that made it; those that it forked leave it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _digest_of(folder: Path) -> str:
    return folder.name.partition("-")[0]


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _is_in_use(folder: Path) -> bool:
    """Whether a folder was asked for, or begun, so lately that a process may need it."""
    try:
        return folder.stat().st_mtime >= time.time() - _IN_USE
    except FileNotFoundError:
        return False


def _bytes(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def _digests(folder: Path) -> str:
    files = sorted(f for f in folder.rglob("*") if f.is_file() and f != folder / _DIGESTS)
    return "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder)}\n"
        for file in files
    )
