"""Refuses programs that draw random numbers: the runtime has no generator that PyTorch seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from polystate.errors import UnsupportedError
from polystate.export.diagnosis.lines import line_of_nodes
from polystate.export.graph.operands import all_operands

_NOISE_AS_INPUT = (
    "pass the numbers as an input: def forward(self, x, noise), with noise of the caller"
)


def refuse_randomness(program: ExportedProgram) -> None:
    """Refuse a functional program with an operator of random results, in branches too.

    Raises
    ------
    UnsupportedError
        With the operator, the user's line and a rewrite.
    """
    for module in program.graph_module.modules():
        if isinstance(module, GraphModule):
            for node in module.graph.nodes:
                if _is_random(node):
                    line = line_of_nodes([node])
                    where = f" (at {line})" if line else ""
                    raise _refusal(f"'{node.target}'{where}", _rewrite(node))


def _refusal(what: str, rewrite: str) -> UnsupportedError:
    return UnsupportedError(
        f"{what} draws random numbers, which a program cannot draw as PyTorch does: {rewrite}"
    )


def _random_(*_: Any, **__: Any) -> Any:
    # PyTorch writes a graph with it that is no Python, by the name of its overload: "from".
    raise _refusal("random_", _NOISE_AS_INPUT)


FUNCTIONS: dict[Any, Callable[..., Any]] = {Tensor.random_: _random_}


def _is_random(node: Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    return torch.Tag.nondeterministic_seeded in node.target.tags and _draws(node)


# Names of arguments: what switches drawing on, and the part of a tensor that is dropped.
_SWITCHES = ("train", "training")
_DROPPED = ("dropout_p", "dropout", "p")


def _draws(node: Node) -> bool:
    """Whether an operator draws with its arguments, which may leave it nothing to draw."""
    given = all_operands(node)
    if any(given.get(name) is False for name in _SWITCHES):
        return False
    dropped = [given[name] for name in _DROPPED if name in given]
    # A recurrent network drops between its layers.
    return not (dropped and (dropped[0] == 0 or given.get("num_layers") == 1))


def _rewrite(node: Node) -> str:
    if not any(name in str(node.target) for name in ("dropout", "bernoulli", "attention")):
        return _NOISE_AS_INPUT
    without = "for dropout call model.eval() first, or give attention dropout_p=0"
    return f"{without}; else {_NOISE_AS_INPUT}"
