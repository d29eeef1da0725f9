"""Arguments that are no tensors are constants of a method, whatever their type."""

import enum
import functools

import numpy as np
import pytest
import torch
from torch import nn

import polystate as ps


class Mode(enum.Enum):
    DOUBLE = "double"


class Level(enum.IntEnum):
    HIGH = 3


def shifted(x, by=1):
    return x + by


class Chooses(nn.Module):
    def by_mode(self, x, mode, level):
        return x * 2 if mode is Mode.DOUBLE and level is Level.HIGH else x

    def by_type(self, x, dtype, part):
        return x.to(dtype)[part]

    def by_function(self, x, function, options):
        return function(x) * options["scale"] + sum(options["range"])

    def by_text(self, x, text):
        return x * len(text)

    def by_number(self, x, number):
        return x * number.imag + float(number.real)


X = torch.tensor([1.0, -2.0, 3.0, 0.5])
TEXTS = ("", "plain", "two words", "'\\n<é>\"", "import os", "x y" * 99)
CALLS = [
    ("by_mode", (Mode.DOUBLE, Level.HIGH)),
    ("by_type", (torch.float64, slice(1, 3))),
    ("by_type", (torch.int32, range(2))),
    ("by_function", (torch.relu, {"scale": np.float32(0.5), "range": range(3)})),
    ("by_function", (functools.partial(shifted, by=2), {"scale": 2j.imag, "range": {4}})),
    ("by_function", (lambda x: x.flip(0), {"scale": np.int64(3), "range": b"\1\2"})),
    ("by_number", (1.5 + 2j,)),
    *(
        ("by_text", (text,))
        for text in ("", "plain", "two words", "'\\n<é>\"", "import os", "x y" * 99)
    ),
]


@pytest.mark.parametrize(("method", "fixed"), CALLS)
def test_a_value_of_any_type_is_a_constant(tmp_path, method, fixed):
    entries = {"f": ps.Method(method, (X, *fixed))}
    session = ps.load(ps.export(Chooses(), entries, backend="portable").save(tmp_path / "a"))
    expected = getattr(Chooses(), method)(X, *fixed)
    torch.testing.assert_close(session.session().run("f", X)[0], expected)


def test_a_draw_gets_the_values_themselves(tmp_path):
    seen = []

    def draw(generator, args, kwargs):
        seen.append((args[1], kwargs["part"]))
        return args, kwargs

    method = ps.Method("by_type", (X, torch.float64), {"part": slice(0, 2)}, draw=draw)
    ps.export(Chooses(), {"f": method}, backend="portable")
    assert set(map(str, seen)) == {str((torch.float64, slice(0, 2)))}


def test_an_array_of_numpy_is_refused_as_an_example():
    with pytest.raises(ps.ContractError, match=r"the example \[1\] is an array of NumPy's"):
        entries = {"f": ps.Method("by_number", (X, np.ones(4)))}
        ps.export(Chooses(), entries, backend="portable")
