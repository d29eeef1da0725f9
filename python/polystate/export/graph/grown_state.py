"""Gives pools of pages more pages than the module has that is traced.

An operator over pages does with each page what it does with any other, so that a program is shown
to be right with a few of them, which take little memory and time.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node

from polystate.errors import ExportError
from polystate.export.graph.operands import called_operator
from polystate.export.graph.page_operators import OVER_PAGES


def grow_state(program: ExportedProgram, pages: Mapping[str, int]) -> None:
    """Changes the first dimension of pools in a functional program, which holds them as they were.

    Parameters
    ----------
    pages
        Of each pool, by the buffer's name.

    Raises
    ------
    ExportError
        When something other than an operator over pages uses one.
    """
    buffers = program.graph_signature.inputs_to_buffers
    pools: set[int] = set()  # the grown values, by their identity
    for node in program.graph.nodes:
        if node.op == "placeholder" and buffers.get(node.name) in pages:
            shape = (pages[buffers[node.name]], *node.meta["val"].shape[1:])
            node.meta["val"] = node.meta["val"].new_empty(shape)
            pools.add(id(node.meta["val"]))
        elif node.op == "output" or not _uses(node, pools):
            continue
        elif node.target is operator.getitem:
            source, index = node.args
            node.meta["val"] = source.meta["val"][index]
        elif called_operator(node) in OVER_PAGES:
            _grow_results(node)
        else:
            raise ExportError(f"'{node.target}' uses a pool, and may depend on its number of pages")


def _uses(node: Node, pools: set[int]) -> bool:
    """Whether a node uses a grown value, or a tuple that has one."""
    values: list[Any] = []
    for operand in node.all_input_nodes:
        value = operand.meta.get("val")
        values += value if isinstance(value, tuple | list) else [value]
    return any(id(value) in pools for value in values)


def _grow_results(node: Node) -> None:
    """The changed pools that an operator gives after its own results are as large as before."""
    bases: Any = node.kwargs.get("_all_bases", ())
    if bases:
        own = node.meta["val"][: -len(bases)]
        node.meta["val"] = (*own, *(base.meta["val"] for base in bases))
