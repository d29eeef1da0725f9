"""A module that runs eagerly takes branches and loops as they are written, uncompiled."""

import pytest
import torch
from torch._higher_order_ops.map import map as mapped
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from polystate.export.tracing.eager import EagerModule

X = torch.tensor([1.0, -2.0, 3.0])


def branch(x):
    """Of operands that are nested, and a tensor from outside."""
    given = {"x": x, "pair": [x + 1, x * 2]}
    return torch.cond(
        x.sum() > 0,
        lambda g: g["pair"][0] * x,
        lambda g: torch.cond(g["x"][0] > 0, lambda v: v - 5, lambda v: v + 5, (g["pair"][1],)),
        (given,),
    )


def counted(x):
    return while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (torch.tensor(0), x))[1]


def scanned(x):
    return scan(lambda carry, v: (carry + v, carry * v), x[0], x)[1]


def scanned_in_structures(x):
    """What is carried, and what comes of each row, is nested."""
    (total, (count,)), seen = scan(
        lambda carry, v: (
            (carry[0] + v, (carry[1][0] + 1,)),
            {"was": carry[0].clone(), "by": [v * 2]},
        ),
        (torch.zeros(()), (torch.zeros(()),)),
        x,
    )
    return seen["was"] + seen["by"][0] + total * count


def counted_in_structures(x):
    i, values = while_loop(
        lambda i, values: i < 3,
        lambda i, values: (i + 1, {"a": values["a"] * 2, "b": [values["b"][0] + values["a"]]}),
        (torch.tensor(0), {"a": x, "b": [x * 1]}),
    )
    return values["b"][0] * i


EXPECTED = {
    scanned_in_structures: lambda x: x.cumsum(0) + x + x.sum() * 3,
    counted_in_structures: lambda x: x * 24,
    branch: lambda x: (x + 1) * x if x.sum() > 0 else (x * 2 - 5 if x[0] > 0 else x * 2 + 5),
    counted: lambda x: x * 8,
    scanned: lambda x: torch.stack([x[0], 2 * x[0], 2 * x[0] + x[1]]) * x,
    lambda x: mapped(lambda v, w: v * w.sum(), x, x): lambda x: x * x.sum(),
}


@pytest.mark.parametrize("function", EXPECTED)
@pytest.mark.parametrize("x", [X, -X, torch.tensor([2.0, -9.0, 0.5])])
def test_control_flow_is_what_python_does_and_compiles_nothing(function, x, monkeypatch):
    monkeypatch.setattr(torch, "compile", None)
    outcome = EagerModule(torch.nn.Identity()).run(function, (x,), {})
    torch.testing.assert_close(outcome.outputs, [EXPECTED[function](x)])
