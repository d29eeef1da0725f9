"""Keeps what tests export, for all tests, later runs and other clones.

A folder lies in the user's cache under the digest of all that it is made from, so that a change of
any of that makes another one. Those that were not asked for the longest go first where the cache
is full.
"""

from __future__ import annotations

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
_ANY = "any"
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
        What makes them and shows in nothing of them: an extension that checks what it exports. What
        another one made is made again.
    limit
        How many bytes they may have together.
    content
        What a folder has, for the account.
    """

    def __init__(
        self,
        folder: Path | None,
        maker: str = "",
        limit: int = _LIMIT,
        content: str = "export",
    ) -> None:
        self._content = content
        self._maker = maker
        self._keeps = folder is not None
        self._folder = folder or Path(tempfile.mkdtemp(prefix="polystate-tests-"))
        self._limit = limit
        self._seen: set[str] = set()
        self._folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def of_user(maker: str = "") -> Store:
        """The store in the user's cache; POLYSTATE_CACHE names another, or none where empty.

        POLYSTATE_ANY_MAKER takes what any maker made: a run for which it is enough that tests run
        artifacts with the extension as it is.
        """
        any_maker = os.environ.get("POLYSTATE_ANY_MAKER")
        return Store(user_cache.folder("exports"), _ANY if any_maker else maker)

    def get(self, digest: str, make: Callable[[Path], object]) -> Path:
        """The folder of a digest. ``make`` fills it if it is missing or damaged.

        Who comes first makes it; other processes wait meanwhile. Tests only read it.
        """
        path = self._folder / digest
        if digest in self._seen:
            return path
        begin = time.monotonic()
        with self._locked(digest):
            is_kept = self._has(path)
            if not is_kept:
                self._make(path, make)
            os.utime(path)
        account.note(self._content, "kept" if is_kept else "made", time.monotonic() - begin)
        self._seen.add(digest)
        if self._keeps and not is_kept:
            self._prune()
        return path

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
        return self._maker in (maker, _ANY) and digests == _digests(path)

    def _prune(self) -> None:
        """Removes the folders that were not asked for the longest, as far as they are too many.

        A folder that was asked for lately stays: another process may be reading it. What processes
        that were killed had begun goes, too.
        """
        asked: dict[Path, float] = {}
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process removes it
                if (path / _DIGESTS).is_file():
                    asked[path] = path.stat().st_mtime
                elif path.name.startswith(_NEW) and not _is_in_use(path):
                    shutil.rmtree(path, ignore_errors=True)
        room = self._limit
        for path in sorted(asked, key=lambda path: -asked[path]):
            room -= _bytes(path)
            if room < 0 and path.name not in self._seen and not _is_in_use(path):
                with self._locked(path.name):
                    if not _is_in_use(path):  # another process may have asked for it meanwhile
                        shutil.rmtree(path, ignore_errors=True)

    @contextlib.contextmanager
    def _locked(self, digest: str) -> Iterator[None]:
        with (self._folder / f"{digest}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


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
