"""What a call gives an operator, by the names of its schema."""

import torch

from polystate.export.graph.operands import all_arguments, given_arguments

LAYER_NORM = torch.ops.aten.layer_norm.default


def test_what_is_given_has_names():
    given = given_arguments(LAYER_NORM, ("x", [2]), {"eps": 1e-3})
    assert given == {"input": "x", "normalized_shape": [2], "eps": 1e-3}


def test_all_arguments_are_in_order_with_their_defaults():
    found = all_arguments(LAYER_NORM, ("x", [2]), {"bias": "b"})
    assert list(found.items())[:5] == [
        ("input", "x"),
        ("normalized_shape", [2]),
        ("weight", None),
        ("bias", "b"),
        ("eps", 1e-5),
    ]
