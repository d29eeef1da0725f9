"""Files beside an artifact appear as a whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from polystate.export.whole_file import write_whole_file


def test_a_file_is_written_over_an_older_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for content in (b"one", b""):
        write_whole_file(file, content)
        assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]


def test_what_stood_there_stays_where_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError("no space")

    file = tmp_path / "file"
    file.write_bytes(b"older")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        write_whole_file(file, b"newer")
    assert file.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [file]


def test_links_are_followed_and_pipes_written_to(tmp_path: Path) -> None:
    file, link, pipe = (tmp_path / name for name in ("file", "link", "pipe"))
    link.symlink_to(file)
    write_whole_file(link, b"linked")
    assert link.is_symlink()
    assert file.read_bytes() == b"linked"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole_file(pipe, b"piped")
    reader.join()
    assert read == [b"piped"]
    assert pipe.is_fifo()
