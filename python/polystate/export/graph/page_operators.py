"""The operators over pages of keys and values, which change pools of them in place."""

from __future__ import annotations

import torch
from torch.fx import Graph

import polystate.ops  # noqa: F401  (registers the operators)
from polystate.export.graph.operands import called_operator

operators = torch.ops.polystate

OVER_PAGES = {
    operators.copy_pages.default,
    operators.cross_attention.default,
    operators.paged_attention.default,
    operators.write_pages.default,
}


def works_on_pages(graph: Graph) -> bool:
    """Whether a functional graph calls one of them.

    They refuse pages that are named twice, which is not checked before.
    """
    return any(called_operator(node) in OVER_PAGES for node in graph.nodes)
