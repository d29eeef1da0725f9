"""The programs of docs/tokenizers.md work as they are printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.end_to_end.printed_programs import ROOT, build_project, run, write_programs


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give every program in a file, with a tokenizer beside them."""
    directory = tmp_path_factory.mktemp("tokenizers")
    write_programs("docs/tokenizers.md", "tokenizers", directory)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["Hello, world"], trainer)
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory


def ids_of(directory: Path, text: str) -> list[int]:
    return list(Tokenizer.from_file(str(directory / "tokenizer.json")).encode(text).ids)


def test_every_figure_is_there() -> None:
    assert "@@" not in (ROOT / "docs/tokenizers.md").read_text(encoding="utf-8")


def test_the_python_program_prints_ids_a_batch_and_a_stream(directory: Path) -> None:
    first, batch, stream = run(directory, sys.executable, "example.py").splitlines()
    assert first == f"{ids_of(directory, 'Hello, world')} Hello, world"
    assert batch.startswith(f"[{ids_of(directory, 'Hello')}, ")
    assert stream == "Hello, world"


def test_the_cpp_program_builds_as_a_project_without_an_engine(directory: Path) -> None:
    build_project(directory, "-DCMAKE_DISABLE_FIND_PACKAGE_executorch=ON")
    ids = " ".join(map(str, ids_of(directory, "Hello, world")))
    assert run(directory, "build/example") == f"{ids} Hello, world\n"


def test_the_library_alone_is_configured_without_an_engine(directory: Path) -> None:
    disabled = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("executorch", "OpenSSL")]
    out = run(
        directory, "cmake", "-S", str(ROOT), "-B", "text", "-DPOLYSTATE_TEXT_ONLY=ON", *disabled
    )
    assert "Build files have been written" in out
    installs = (directory / "text/cmake_install.cmake").read_text()
    assert "include/polystate/tokenizer" in installs and 'include/"' not in installs
    options = ["-DPOLYSTATE_TEXT_ONLY=ON", "-DPOLYSTATE_BUILD_TESTS=ON", *disabled]
    done = subprocess.run(
        ["cmake", "-S", str(ROOT), "-B", "warned", *options],
        cwd=directory,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "POLYSTATE_BUILD_TESTS has no effect" in done.stderr
    assert done.stderr.count("has no effect") == 1
    targets = run(directory, "cmake", "--build", "text", "--target", "help")
    assert "polystate_text" in targets
    assert "polystate_cli" not in targets
