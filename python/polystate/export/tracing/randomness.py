"""Refuses programs that draw random numbers: the runtime has no generator that PyTorch seeds."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from polystate.errors import UnsupportedError
from polystate.export.graph.sources import source_of


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
                    source = source_of([node])
                    where = f" ({source})" if source else ""
                    raise UnsupportedError(
                        f"'{node.target}'{where} draws random numbers, which a program cannot draw "
                        f"as PyTorch does: {_rewrite(node)}"
                    )


def _is_random(node: Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    return torch.Tag.nondeterministic_seeded in node.target.tags and _dropout_of(node) != 0


def _dropout_of(node: Node) -> Any:
    """The part that an attention drops; None for operators of other kinds."""
    module = node.graph.owning_module
    assert module is not None
    given = node.normalized_arguments(module, normalize_to_only_use_kwargs=True)
    return None if given is None else given.kwargs.get("dropout_p")


def _rewrite(node: Node) -> str:
    names = ("dropout", "bernoulli", "attention")
    if any(name in str(node.target) for name in names):
        return (
            "for dropout call model.eval() first, or give attention dropout_p=0; otherwise pass "
            "the numbers as an input"
        )
    return "pass the numbers as an input"
