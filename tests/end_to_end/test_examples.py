"""The examples: what they print in C++ and in Python is what eager PyTorch computes.

The translation's is what the model of models/ is known to say.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.end_to_end.command_line import POLYSTATE
from tests.support.examples import EXAMPLES, example
from tests.support.executables import executable
from tests.support.exported_models import demo_model
from tests.support.warm_process import run_script


def eager_stateful(model: torch.nn.Module) -> Iterator[list[float]]:
    model.set_cache(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    window = torch.full((3, 4), -1.0)
    model.get_cache(window)
    yield from window.tolist()


def eager_running_statistic(model: torch.nn.Module) -> Iterator[list[float]]:
    def read() -> list[float]:
        return [float(value) for value in model.read()]

    prior = read()
    yield prior
    model.update(torch.tensor([18.5, 21.25, 19.0]))
    model.update(torch.tensor([22.75]))
    yield read()
    model.start(torch.tensor(15.0))
    model.update(torch.tensor([16.0, 17.0]))
    yield read()
    yield prior


def eager_detector(model: torch.nn.Module) -> Iterator[list[float]]:
    stream = ((torch.arange(57 * 3) * 7 % 11 - 5) / 5).reshape(-1, 3)
    first, *others = stream.split([1, 19, 5, 32])
    scores, level = model.listen(first)
    beginning = [float(scores[-1]), float(level)]
    yield beginning
    for piece in others:
        scores, level = model.listen(piece)
        yield [float(scores[-1]), float(level)]
    yield beginning


def eager_encoder_decoder(model: torch.nn.Module) -> Iterator[list[float]]:
    model.encode(torch.tensor([5, 17, 3, 29, 8]))
    token = torch.tensor([0])
    for _ in range(10):
        token = model.decode(token).argmax(keepdim=True)
        yield token.tolist()


def eager_histogram(model: torch.nn.Module) -> Iterator[list[float]]:
    stream = (torch.arange(3000) * 37 % 1000) / 10
    for piece in stream.split([500, 2500]):
        count = model.add(piece)
        yield [float(count), *model.quantiles(torch.tensor([0.1, 0.5, 0.99])).tolist()]


def eager_kalman_filter(model: torch.nn.Module) -> Iterator[list[float]]:
    for step in range(4):
        tracks = torch.arange(5.0)
        measured = torch.stack(
            [5.0 + 0.125 * step + 0.03125 * tracks, 0.875 - 0.03125 * step + 0 * tracks], -1
        )
        likelihood, certainty = model.update(measured)
        yield [float(likelihood[4]), float(certainty[4])]


def eager_audio_features(model: torch.nn.Module) -> Iterator[list[float]]:
    stream = ((torch.arange(30 * 160) * 7 % 11 - 5) / 5).reshape(-1, 160)
    for piece in stream.split([2, 8, 20]):
        features = model.hear(piece)
        yield [float(features[-1, 20]), float(features[-1, 39])]


EAGER: dict[str, Callable[[torch.nn.Module], Iterator[list[float]]]] = {
    "stateful": eager_stateful,
    "running_statistic": eager_running_statistic,
    "detector": eager_detector,
    "encoder_decoder": eager_encoder_decoder,
    "histogram": eager_histogram,
    "kalman_filter": eager_kalman_filter,
    "audio_features": eager_audio_features,
}


def program(name: str) -> Path:
    return executable(f"examples/{name}", target=f"example_{name}")


def printed(command: list[object]) -> list[list[float]]:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [[float(word) for word in numbers(line)] for line in done.stdout.splitlines()]


def numbers(line: str) -> list[str]:
    return [word for word in line.split() if not word.isalpha()]


@pytest.mark.parametrize("name", EAGER)
def test_the_example_prints_what_eager_pytorch_computes(name: str, tmp_path: Path) -> None:
    folder = EXAMPLES / name
    artifact = tmp_path / name
    exported = run_script(folder / "export.py", artifact)
    assert (exported.returncode, exported.stdout) == (0, ""), exported.stderr
    with torch.no_grad():
        expected = list(EAGER[name](example(name).program()[0]))
    in_cpp = printed([program(name), artifact])
    in_python = printed([sys.executable, folder / "run.py", artifact])
    assert in_cpp == in_python
    np.testing.assert_allclose(np.array(in_cpp), np.array(expected), atol=1e-4)


@pytest.mark.parametrize("name", [*EAGER, "translation"])
def test_the_example_says_what_is_wrong(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [program(name), tmp_path / "nowhere"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "nowhere" in done.stderr


def test_the_translation_is_the_same_in_cpp_in_python_and_from_the_shell() -> None:
    artifact, text = demo_model(), "Where is the station?"
    commands: list[list[object]] = [
        [program("translation"), artifact, text],
        [sys.executable, EXAMPLES / "translation/run.py", artifact, text],
        [POLYSTATE, "translate", artifact, text],
    ]
    for command in commands:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, timeout=300
        )
        assert (done.returncode, done.stdout) == (0, "Où se trouve la gare ?\n"), done.stderr


def test_every_example_is_tested() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    # tests/python/export/test_examples.py has the database.
    assert folders == {*EAGER, "translation", "database"}
