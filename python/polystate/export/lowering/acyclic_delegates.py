"""Splits delegates that would wait for each other.

A partitioner sees to it that no path leaves a delegate and comes back. Two delegates may still each
need a result of the other, which ExecuTorch refuses ("found dependency cycles").
"""

from __future__ import annotations

from collections.abc import Sequence

import networkx
from torch.fx import Node

TAG = "delegation_tag"


def split_cyclic_delegates(nodes: Sequence[Node]) -> dict[str, str]:
    """Give parts of delegates that wait for each other tags of their own.

    Parameters
    ----------
    nodes
        All nodes of a graph, in their order; those of a delegate have its tag.

    Returns
    -------
    dict[str, str]
        For each new tag the one that it was split from.
    """
    cyclic = _cyclic_tags(nodes)
    if not cyclic:
        return {}
    found: dict[str, str] = {}
    for node, level in _levels(nodes).items():
        tag = node.meta.get(TAG)
        if tag in cyclic:
            node.meta[TAG] = f"{tag}_{level}"
            found[node.meta[TAG]] = tag
    return found


def _cyclic_tags(nodes: Sequence[Node]) -> set[str]:
    graph = networkx.DiGraph()
    for node in nodes:
        graph.add_edges_from((_unit(each), _unit(node)) for each in node.all_input_nodes)
    cycles = (each for each in networkx.strongly_connected_components(graph) if len(each) > 1)
    return {unit for cycle in cycles for unit in cycle if isinstance(unit, str)}


def _unit(node: Node) -> str | Node:
    """What runs at once: a delegate, by its tag, or a single node."""
    tag: str | None = node.meta.get(TAG)
    return node if tag is None else tag


def _levels(nodes: Sequence[Node]) -> dict[Node, int]:
    """How many units at most run before each node: what is at one level needs none of its own."""
    levels: dict[Node, int] = {}
    for node in nodes:
        before = (levels[each] + (_unit(each) != _unit(node)) for each in node.all_input_nodes)
        levels[node] = max(before, default=0)
    # What reads nothing but constants belongs to what reads it, as the scales of a weight do.
    for node in reversed(nodes):
        of_constants = all(each.op in ("placeholder", "get_attr") for each in node.all_input_nodes)
        users = [levels[user] for user in node.users if _unit(user) == _unit(node)]
        if users and of_constants and len(users) == len(node.users):
            levels[node] = min(users)
    return levels
