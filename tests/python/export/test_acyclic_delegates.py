"""Delegates that wait for each other are split, and no others."""

from __future__ import annotations

import graphlib
import operator

from torch.fx import Graph, Node

from polystate.export.lowering.acyclic_delegates import TAG, split_cyclic_delegates


def tagged(graph: Graph, tag: str | None, *read: Node) -> Node:
    node = graph.call_function(operator.add, read)
    if tag is not None:
        node.meta[TAG] = tag
    return node


def weight_of(graph: Graph, tag: str) -> Node:
    """A constant, which a partitioner tags as a part of what reads it."""
    weight = graph.placeholder("weight")
    weight.meta[TAG] = tag
    return weight


def is_acyclic(graph: Graph) -> bool:
    """Whether delegates can run one after another; each has its own copy of a weight."""
    before: dict[object, set[object]] = {}
    for node in graph.nodes:
        unit = node.meta.get(TAG, node)
        inputs = [each for each in node.all_input_nodes if each.op != "placeholder"]
        read = {each.meta.get(TAG, each) for each in inputs}
        before.setdefault(unit, set()).update(read - {unit})
    try:
        graphlib.TopologicalSorter(before).prepare()
    except graphlib.CycleError:
        return False
    return True


def split_all(graph: Graph) -> dict[str, str]:
    found: dict[str, str] = {}
    while split := split_cyclic_delegates(list(graph.nodes)):
        found.update(split)
    return found


def test_delegates_that_need_results_of_each_other_are_split() -> None:
    graph = Graph()
    x, weight = graph.placeholder("x"), weight_of(graph, "b")
    transposed = tagged(graph, "b", weight)
    convolution = tagged(graph, "a", x)
    norm = tagged(graph, "b", convolution, transposed)
    shifted = tagged(graph, "b", x)
    outside = tagged(graph, None, shifted)
    doubled = tagged(graph, "a", outside)
    other = tagged(graph, "c", doubled, norm)
    last = tagged(graph, "c", other)
    graph.output((norm, last))
    assert not is_acyclic(graph)
    assert set(split_all(graph).values()) <= {"a", "b"}
    assert is_acyclic(graph)
    assert weight.meta[TAG] == transposed.meta[TAG] == norm.meta[TAG]
    assert norm.meta[TAG] != shifted.meta[TAG] or convolution.meta[TAG] != doubled.meta[TAG]
    assert other.meta[TAG] == last.meta[TAG] == "c"


def test_three_delegates_in_a_circle_are_split() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    ends = []
    for first, second in ("ab", "bc", "ca"):
        ends.append(tagged(graph, second, tagged(graph, None, tagged(graph, first, x))))
    graph.output(tuple(ends))
    assert not is_acyclic(graph)
    split_all(graph)
    assert is_acyclic(graph)


def test_a_reader_of_another_parts_weight_is_left_outside() -> None:
    graph = Graph()
    x, weight = graph.placeholder("x"), weight_of(graph, "a")
    transposed = tagged(graph, "a", weight)
    first = tagged(graph, "a", x, transposed)
    between = tagged(graph, "b", first)
    second = tagged(graph, "a", between, transposed)
    graph.output(second)
    split_all(graph)
    assert is_acyclic(graph)
    assert transposed.meta[TAG] == first.meta[TAG] == weight.meta[TAG]
    assert TAG not in second.meta


def test_delegates_without_a_cycle_are_left() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    first = tagged(graph, "a", x)
    second = tagged(graph, "a", first)
    third = tagged(graph, "b", tagged(graph, None, second), first)
    graph.output(third)
    assert split_all(graph) == {}
    assert [node.meta.get(TAG) for node in (first, second, third)] == ["a", "a", "b"]


def test_a_weight_that_is_read_outside_makes_no_cycle() -> None:
    graph = Graph()
    x, weight = graph.placeholder("x"), weight_of(graph, "a")
    embedded = tagged(graph, None, weight, x)
    hidden = tagged(graph, "b", embedded)
    logits = tagged(graph, "a", tagged(graph, None, hidden), weight)
    graph.output(logits)
    assert split_all(graph) == {}
