"""Ties checks into a graph, so that no pass drops them and changes of state come after them.

A check returns a copy of a tensor ``x``; whoever used ``x`` before now uses the copy. So any tensor
on the way to a result will do, and the smallest costs least.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import torch
from torch.fx import Graph, Node

from polystate.export.graph.scalars import ITEMS

aten = torch.ops.aten

# Below this many bytes the size of a tensor does not matter.
_SMALL = 64

# The cost of a tensor whose size only the run decides.
_UNKNOWN_BYTES = 2**40

# Operators of quantized arithmetic, which delegates recognise by their surroundings.
_LEFT_ALONE = ("quantized_decomposed", "torchao")

# Operators that read no element of their tensor, so that engines compute them before it is known.
_OF_SHAPES = {
    aten.empty_like.default,
    aten.full_like.default,
    aten.new_empty.default,
    aten.new_full.default,
    aten.new_ones.default,
    aten.new_zeros.default,
    aten.ones_like.default,
    aten.zeros_like.default,
}


def live_nodes(graph: Graph) -> set[Node]:
    """Find the nodes that contribute to a result."""
    return _with_ancestors([graph.output_node()])


def tie_in(
    graph: Graph,
    check: Callable[[Node], Node],
    condition: Collection[Node],
    must_follow: Collection[Node],
    fixed: Collection[Node],
    uses: Collection[Node] = (),
) -> None:
    """Insert a check before given nodes, or just before some result. The graph must be functional.

    Parameters
    ----------
    check
        Inserts the check at the graph's insertion point and returns its copy of the given tensor.
    condition
        What the check looks at.
    must_follow
        Live nodes that are to come after the check. Those that the condition itself needs cannot,
        nor those of which all operands are fixed, unless they are results or read a number.
    fixed
        Tensors whose users must go on seeing them directly: weights and state, for delegates and
        operators that work in place. Only as a result, or for what reads its number, a copy may
        take their place.
    uses
        Those of `must_follow` that are not to be computed before, where that is possible: for
        others, a check of what they return will do.
    """
    before = _with_ancestors(condition)
    wanted = [node for node in must_follow if node not in before] or [graph.output_node()]
    used = [node for node in uses if node in wanted]
    left = _insert_before(graph, check, _ways(graph, wanted, before, fixed, used))
    if left:
        left = _insert_before(graph, check, _ways(graph, left, before, fixed))
    if len(left) == len(wanted):  # the check is nowhere yet
        _insert_before(graph, check, _ways(graph, [graph.output_node()], before, fixed))
    _sort(graph)


def _insert_before(graph: Graph, check: Callable[[Node], Node], ways: _Ways) -> list[Node]:
    """Insert a check where it reaches all wanted nodes; return those that it cannot reach."""
    # A check of one tensor changes nothing of what comes after those of others.
    reached = {tensor: bits for tensor in _tensors(graph) if (bits := ways.all_reached(tensor))}
    reachable = missing = reduce(operator.or_, reached.values(), 0)
    for tensor in sorted(reached, key=lambda tensor: _cost(tensor, reached[tensor])):
        if not missing:
            break
        if reached[tensor] & missing:
            missing &= ~reached[tensor]
            _insert(graph, check, tensor, ways)
    return [node for node, bit in ways.wanted.items() if not bit & reachable]


def _insert(graph: Graph, check: Callable[[Node], Node], tensor: Node, ways: _Ways) -> None:
    users = [user for user in tensor.users if ways.reached(tensor, user)]
    with graph.inserting_before(graph.output_node()):
        checked = check(tensor)
    for user in users:
        user.replace_input_with(tensor, checked)


@dataclass(frozen=True)
class _Ways:
    """Which wanted nodes, as bits, are reached through a node."""

    wanted: Mapping[Node, int]
    through: Mapping[Node, int]
    fixed: Collection[Node]
    uses: Collection[Node]

    def reached(self, tensor: Node, user: Node) -> int:
        """Tell what comes after a check between a tensor and one of its users."""
        if user.op == "output":
            returned = 0 if tensor in self.uses else self.wanted.get(tensor, 0)
            return returned | self.wanted.get(user, 0)
        if tensor in self.fixed and user.target not in ITEMS:
            return 0
        if user.target in _OF_SHAPES:
            return 0
        if _is_left_alone(tensor) or _is_left_alone(user):
            return 0
        return self.through.get(user, 0)

    def all_reached(self, tensor: Node) -> int:
        """Tell what comes after a check of a tensor."""
        return reduce(operator.or_, (self.reached(tensor, user) for user in tensor.users), 0)


def _ways(
    graph: Graph,
    wanted: Collection[Node],
    excluded: Collection[Node],
    fixed: Collection[Node],
    uses: Collection[Node] = (),
) -> _Ways:
    bits = {node: 1 << i for i, node in enumerate(wanted)}
    through: dict[Node, int] = {}
    for node in reversed(graph.nodes):
        if node not in excluded:
            used = (user for user in node.users if user.op != "output")
            users = (through.get(user, 0) for user in used if user.target not in _OF_SHAPES)
            returned = bits.get(graph.output_node(), 0) if _is_returned(node) else 0
            through[node] = reduce(operator.or_, users, bits.get(node, 0) | returned)
    return _Ways(bits, through, fixed, uses)


def _is_returned(node: Node) -> bool:
    return any(user.op == "output" for user in node.users)


def _tensors(graph: Graph) -> list[Node]:
    return [
        node
        for node in graph.nodes
        if isinstance(node.meta.get("val"), torch.Tensor)
        and node.op in ("placeholder", "call_function")
    ]


def _is_left_alone(node: Node) -> bool:
    return str(node.target).startswith(_LEFT_ALONE)


def _cost(node: Node, reached: int) -> tuple[int, int]:
    """Rank tensors by size, those that are small alike by how much comes after their check."""
    return max(_bytes(node), _SMALL), -reached.bit_count()


def _bytes(node: Node) -> int:
    value = node.meta["val"]
    count = 1
    for size in value.shape:
        if isinstance(size, torch.SymInt):
            if not size.node.has_hint():
                return _UNKNOWN_BYTES
            size = size.node.hint
        count *= int(size)
    return count * int(value.element_size())


def _with_ancestors(nodes: Iterable[Node]) -> set[Node]:
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(node.all_input_nodes)
    return found


def _sort(graph: Graph) -> None:
    """Move nodes after what they use, and leave the order otherwise as it is."""
    placed: set[Node] = set()
    output = graph.output_node()
    for first in list(graph.nodes)[:-1]:
        waiting = [first]
        while waiting:
            node = waiting[-1]
            missing = [used for used in node.all_input_nodes if used not in placed]
            if missing:
                waiting.extend(reversed(missing))
                continue
            waiting.pop()
            if node not in placed:
                placed.add(node)
                output.prepend(node)
