"""Delegates that wait for each other are split, and no others."""

from __future__ import annotations

import operator

import networkx
from torch.fx import Graph, Node

from polystate.export.lowering.acyclic_delegates import TAG, split_cyclic_delegates


def tagged(graph: Graph, tag: str | None, *read: Node) -> Node:
    node = graph.call_function(operator.add, read)
    if tag is not None:
        node.meta[TAG] = tag
    return node


def is_acyclic(graph: Graph) -> bool:
    units = networkx.DiGraph()
    for node in graph.nodes:
        for read in node.all_input_nodes:
            a, b = (each.meta.get(TAG, each) for each in (read, node))
            units.add_edges_from([(a, b)] if a != b else [])
    return networkx.is_directed_acyclic_graph(units)


def test_delegates_that_need_results_of_each_other_are_split() -> None:
    graph = Graph()
    x, weight = graph.placeholder("x"), graph.placeholder("weight")
    scaled = tagged(graph, "b", weight)
    convolution = tagged(graph, "a", x)
    norm = tagged(graph, "b", convolution, scaled)
    shifted = tagged(graph, "b", x)
    outside = tagged(graph, None, shifted)
    doubled = tagged(graph, "a", outside)
    other = tagged(graph, "c", doubled, norm)
    last = tagged(graph, "c", other)
    graph.output((norm, last))
    assert not is_acyclic(graph)
    assert set(split_cyclic_delegates(list(graph.nodes)).values()) == {"a", "b"}
    assert is_acyclic(graph)
    # What reads a constant alone stays with what reads it, and what has no cycle as it was.
    assert scaled.meta[TAG] == norm.meta[TAG] != shifted.meta[TAG]
    assert convolution.meta[TAG] != doubled.meta[TAG]
    assert other.meta[TAG] == last.meta[TAG] == "c"


def test_delegates_without_a_cycle_are_left() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    first = tagged(graph, "a", x)
    second = tagged(graph, "a", first)
    third = tagged(graph, "b", tagged(graph, None, second), first)
    graph.output(third)
    assert split_cyclic_delegates(list(graph.nodes)) == {}
    assert [node.meta.get(TAG) for node in (first, second, third)] == ["a", "a", "b"]
