"""The content of an artifact's file, which is too large to be held in memory."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from polystate.errors import IoError

_CHUNK_BYTES = 1 << 20


class FileContent:
    """Bytes in a temporary file without a name, which ends with whoever uses it.

    Parameters
    ----------
    write
        Writes the bytes to the file that it gets.

    Raises
    ------
    IoError
        When they cannot be written.
    """

    def __init__(self, write: Callable[[IO[bytes]], object]) -> None:
        self._digest = ""  # of the bytes, once they were read
        try:
            self._file = _file_without_name()
            with _closed_after_failure(self._file):
                write(self._file)
                self._file.flush()
        except OSError as error:
            raise IoError(
                error.errno,
                f"cannot write a temporary file in '{tempfile.gettempdir()}': {error.strerror}; "
                f"TMPDIR may name another folder",
            ) from error

    def chunks(self) -> Iterator[bytes]:
        """The bytes, a mebibyte at a time; several callers may read at once."""
        position = 0
        while chunk := os.pread(self._file.fileno(), _CHUNK_BYTES, position):
            yield chunk
            position += len(chunk)

    def is_as_before(self, digest: str) -> bool:
        """Whether the bytes had this SHA-256 (in hex) when they were read first, too."""
        self._digest = self._digest or digest
        return digest == self._digest

    def move_to(self, path: Path) -> bool:
        """Give the temporary file a name, where it has none yet and the file system can do that.

        The bytes can be read here as before. What is changed in the named file is changed here.

        Returns
        -------
        bool
            Whether it has that name now. Otherwise the bytes are to be copied.
        """
        descriptor = self._file.fileno()
        if os.fstat(descriptor).st_nlink > 0:
            return False
        try:
            # Follows the first path only where it is given a folder's descriptor, unused here.
            os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor)
        except FileExistsError:
            raise
        except OSError:  # another file system, or one that cannot do it
            return False
        return True

    def __reduce__(self) -> tuple[Callable[[bytes], FileContent], tuple[bytes]]:
        """Copied and pickled as its bytes."""
        return _of_bytes, (b"".join(self.chunks()),)


def _of_bytes(content: bytes) -> FileContent:
    return FileContent(lambda file: file.write(content))


def _file_without_name() -> IO[bytes]:
    """A temporary file that can be given a name, as those of `tempfile` cannot."""
    try:
        flags = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
        return os.fdopen(os.open(tempfile.gettempdir(), flags, 0o666), "w+b")
    except OSError:  # the file system has none
        return tempfile.TemporaryFile(prefix="polystate-")


@contextlib.contextmanager
def _closed_after_failure(file: IO[bytes]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()  # which tries again to write what failed
        raise
