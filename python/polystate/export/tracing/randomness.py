"""Refuses programs that draw random numbers: the runtime has no generator that PyTorch seeds."""

from __future__ import annotations

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
    tags = node.target.tags if isinstance(node.target, torch._ops.OpOverload) else []
    return torch.Tag.nondeterministic_seeded in tags


def _rewrite(node: Node) -> str:
    if "dropout" in str(node.target) or "bernoulli" in str(node.target):
        return "for dropout call model.eval() first; otherwise pass the numbers as an input"
    return "pass the numbers as an input"
