"""The content of an artifact's file, which is too large to be held in memory."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
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
        try:
            self._file = tempfile.TemporaryFile(prefix="polystate-")  # noqa: SIM115 (see above)
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

    def __reduce__(self) -> tuple[Callable[[bytes], FileContent], tuple[bytes]]:
        """Copied and pickled as its bytes."""
        return _of_bytes, (b"".join(self.chunks()),)


def _of_bytes(content: bytes) -> FileContent:
    return FileContent(lambda file: file.write(content))


@contextlib.contextmanager
def _closed_after_failure(file: IO[bytes]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()  # which tries again to write what failed
        raise
