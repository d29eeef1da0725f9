"""Refuses programs that draw random numbers: the runtime has no generator that PyTorch seeds."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from polystate.errors import UnsupportedError
from polystate.export.diagnosis.lines import line_of_nodes


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
                    raise UnsupportedError(
                        f"'{node.target}'{where} draws random numbers, which a program cannot draw "
                        f"as PyTorch does: {_rewrite(node)}"
                    )


def _is_random(node: Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    return torch.Tag.nondeterministic_seeded in node.target.tags and _draws(node)


# Names of arguments: what switches drawing on, and the part of a tensor that is dropped.
_SWITCHES = ("train", "training")
_DROPPED = ("dropout_p", "dropout", "p")


def _draws(node: Node) -> bool:
    """Whether an operator draws with its arguments, which may leave it nothing to draw."""
    module = node.graph.owning_module
    assert module is not None
    normalized = node.normalized_arguments(module, normalize_to_only_use_kwargs=True)
    given: dict[str, Any] = {} if normalized is None else normalized.kwargs
    if any(given.get(name) is False for name in _SWITCHES):
        return False
    dropped = [given[name] for name in _DROPPED if name in given]
    # A recurrent network drops between its layers.
    return not (dropped and (dropped[0] == 0 or given.get("num_layers") == 1))


def _rewrite(node: Node) -> str:
    names = ("dropout", "bernoulli", "attention")
    rewrite = "pass the numbers as an input: def forward(self, x, noise), with noise of the caller"
    if any(name in str(node.target) for name in names):
        return f"for dropout call model.eval() first, or give attention dropout_p=0; else {rewrite}"
    return rewrite
