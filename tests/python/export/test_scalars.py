"""Numbers that a graph computes outside tensors, read from hand-made graphs."""

import operator

import pytest
import sympy
import torch
from torch.fx import Graph

from polystate.export.graph.scalars import Scalars

aten = torch.ops.aten


@pytest.fixture
def graph():
    return Graph()


def item(graph, value):
    """A node that reads the only element of an input."""
    tensor = graph.placeholder("k")
    tensor.meta["val"] = torch.tensor(value)
    return graph.call_function(aten.item.default, (tensor,))


def test_a_bool_read_as_a_number_is_what_it_was_read_from(graph):
    read = graph.call_function(torch.sym_ite, (item(graph, True), 1, 0))
    assert Scalars().read(read).is_symbol


def test_a_comparison_read_as_a_number_is_not_what_it_compares(graph):
    is_one = graph.call_function(operator.eq, (item(graph, 1), 1))
    read = graph.call_function(torch.sym_ite, (is_one, 1, 0))
    assert isinstance(Scalars().read(read), sympy.Piecewise)


def test_bits_of_numbers_are_numbers_and_conditions_stay_conditions(graph):
    scalars, number = Scalars(), item(graph, 5)
    masked = graph.call_function(operator.and_, (number, 3))
    assert scalars.read(masked).is_integer
    condition = graph.call_function(operator.gt, (masked, 1))
    both = graph.call_function(operator.or_, (condition, condition))
    assert scalars.read(both) == scalars.read(condition)
    (symbol,) = scalars.leaves
    assert scalars.read(masked).xreplace({symbol: sympy.Integer(6)}) == 2


def test_what_is_used_twice_is_read_once(graph):
    scalars, number = Scalars(), item(graph, 1)
    for _ in range(60):
        number = graph.call_function(operator.add, (number, number))
    total = scalars.read(number)
    (symbol,) = scalars.leaves
    assert total == 2**60 * symbol
