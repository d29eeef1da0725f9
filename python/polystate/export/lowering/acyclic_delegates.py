"""Splits delegates that would wait for each other.

A partitioner sees to it that no path leaves a delegate and comes back. Two delegates may still each
need a result of the other, which ExecuTorch refuses ("found dependency cycles").
"""

from __future__ import annotations

import graphlib
import operator
from collections.abc import Collection, Sequence

from torch.fx import Node

TAG = "delegation_tag"


def split_cyclic_delegates(nodes: Sequence[Node]) -> dict[str, str]:
    """Split the delegates of one cycle, if there is one; call it again until it finds none.

    Parameters
    ----------
    nodes
        All nodes of a graph, in their order; those of a delegate have its tag.

    Returns
    -------
    dict[str, str]
        For each new tag the one that it was split from; empty where there is no cycle.
    """
    cycle = _cycle(nodes)
    constants = _constants(nodes)
    levels = _levels(nodes, cycle, constants)
    found: dict[str, str] = {}
    for tag in (unit for unit in cycle if isinstance(unit, str)):
        inside = [node for node in nodes if node.op != "placeholder" and _unit(node) == tag]
        if len({levels[node] for node in inside}) == 1:
            continue
        for node in inside:
            node.meta[TAG] = f"{tag}_{levels[node]}"
            found[node.meta[TAG]] = tag
    for node in (node for node in nodes if node.meta.get(TAG) in found):
        # Delegates compute no weights for each other: their readers are left outside.
        if any(each in constants and _unit(each) != _unit(node) for each in node.all_input_nodes):
            for each in (node, *(user for user in node.users if user.target is operator.getitem)):
                each.meta.pop(TAG, None)
    for weight in (node for node in nodes if node.meta.get(TAG) in found.values()):
        # It goes with the first that reads it: ExecuTorch copies it for others.
        readers = (user.meta.get(TAG) for user in weight.users)
        own = (tag for tag in readers if tag in found and found[tag] == weight.meta[TAG])
        weight.meta[TAG] = next(own, weight.meta[TAG])
    return found


def _cycle(nodes: Sequence[Node]) -> Collection[str | Node]:
    """Find units of which each waits for one before it, and the first for the last."""
    before: dict[str | Node, set[str | Node]] = {}
    for node in nodes:
        unit = _unit(node)
        read = {_unit(each) for each in node.all_input_nodes if each.op != "placeholder"}
        before.setdefault(unit, set()).update(read - {unit})
    try:
        graphlib.TopologicalSorter(before).prepare()
    except graphlib.CycleError as error:
        return set(error.args[1])
    return set()


def _unit(node: Node) -> str | Node:
    """What runs as one: a delegate, by its tag, or a single node."""
    tag: str | None = node.meta.get(TAG)
    return node if tag is None else tag


def _constants(nodes: Sequence[Node]) -> set[Node]:
    """What delegates compute from weights alone, such as their transposes."""
    found: set[Node] = set()
    for node in nodes:
        inputs = node.all_input_nodes
        if inputs and all(each in found or _is_weight(each) for each in inputs):
            found.add(node)
    return found


def _is_weight(node: Node) -> bool:
    return node.op == "placeholder" and TAG in node.meta


def _levels(
    nodes: Sequence[Node], cycle: Collection[str | Node], constants: Collection[Node]
) -> dict[Node, int]:
    """How often a path to a node goes from one unit of a cycle to another, at most.

    Nodes of a unit that are at one level may run as one. They are at several levels in some unit of
    the cycle: one round along it would end at a higher level than it began.
    """
    levels: dict[Node, int] = {}
    for node in nodes:
        levels[node] = 0
        for read in (each for each in node.all_input_nodes if each.op != "placeholder"):
            crosses = _unit(read) != _unit(node) and {_unit(read), _unit(node)} <= set(cycle)
            levels[node] = max(levels[node], levels[read] + crosses)
    for node in reversed([node for node in nodes if node in constants]):
        readers = [levels[user] for user in node.users if _unit(user) == _unit(node)]
        levels[node] = min(readers, default=levels[node])
    return levels
