"""What an export spares its libraries changes none of their results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from executorch.backends.xnnpack._passes.convert_to_upsample_bilinear2d import (
    ConvertToUpsampleBilinear2d,
)
from executorch.backends.xnnpack.partition.graphs import bilinear_2d, sdpa
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import _ExportPassBase
from torch._export import utils
from torch._subclasses import fake_impls
from torch.export import exported_program
from torch.fx.experimental.sym_node import SymNode

import polystate as ps
from polystate.export.lowering import xnnpack_passes
from polystate.export.lowering.partitioner import xnnpack_partitioner
from polystate.export.tracing import composite_operators, node_histories, symbolic_arithmetic
from polystate.export.tracing.eager import identical, same_values
from polystate.ops import packed, unpacked

aten = torch.ops.aten
NAN = float("nan")


def preserved(*args: object, **kwargs: object) -> Any:
    return NotImplemented


def composite() -> dict[Any, Any]:
    """Every operator that PyTorch would preserve, and one that is decomposed otherwise."""
    operators = dict.fromkeys(utils._collect_all_valid_cia_ops(), preserved)
    return {**operators, aten.linear.default: torch.add}


def tables(operators: Any) -> dict[Any, dict[Any, str]]:
    """The kernels of operators; functions that PyTorch makes anew each time by their names."""
    return {op: {key: name(kernel) for key, kernel in op.py_kernels.items()} for op in operators}


def name(kernel: Any) -> str:
    while hasattr(kernel, "func"):
        kernel = kernel.func
    return f"{kernel.__module__}.{kernel.__qualname__}" if callable(kernel) else str(kernel)


def test_composite_operators_have_the_kernels_that_pytorch_gives_them() -> None:
    operators = composite()
    with exported_program._override_composite_implicit_decomp(operators):
        expected = tables(operators)
    for _ in range(2):  # made, and remembered
        before = tables(operators)
        fakes = dict(fake_impls.op_implementations_dict)
        with composite_operators.found_once():
            with exported_program._override_composite_implicit_decomp(operators):
                assert tables(operators) == expected
                assert operators.keys() <= fake_impls.op_implementations_dict.keys()
            assert tables(operators) == before
        assert fake_impls.op_implementations_dict == fakes


def test_composite_operators_are_as_before_after_an_error() -> None:
    operators = composite()
    before = tables(operators)
    with (
        composite_operators.found_once(),
        contextlib.suppress(ZeroDivisionError),
        exported_program._override_composite_implicit_decomp(operators),
    ):
        raise ZeroDivisionError
    assert tables(operators) == before


def test_the_same_operators_are_found_once_and_again_when_there_are_more() -> None:
    with composite_operators.found_once():
        found = exported_program._collect_all_valid_cia_ops()
        assert found == utils._collect_all_valid_cia_ops()
        with torch.library._scoped_library("polystate_tests", "DEF") as library:
            library.define("twice(Tensor x) -> Tensor")
            library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
            operator = torch.ops.polystate_tests.twice.default
            assert operator in exported_program._collect_all_valid_cia_ops()


def test_histories_of_nodes_say_what_pytorch_s_own_say() -> None:
    def histories() -> list[Any]:
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.GELU())
        program = torch.export.export(model, (torch.ones(1, 3),))
        for _ in range(3):
            program = program.run_decompositions()
        return [
            [without_ids(source.to_dict()) for source in node.meta.get("from_node", [])]
            for node in program.graph.nodes
        ]

    def without_ids(source: dict[str, Any]) -> dict[str, Any]:
        rest = {key: value for key, value in source.items() if key != "graph_id"}
        return {**rest, "from_node": [without_ids(each) for each in source["from_node"]]}

    expected = histories()
    with node_histories.shared():
        assert histories() == expected
    assert any(expected)


def test_arithmetic_of_sizes_gives_what_pytorch_computes() -> None:
    class Parts(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            joined = torch.cat([x, y.flatten().reshape(-1, 4)[: x.shape[0]]], 1)
            return joined.view(-1, 2), joined[:, -3:] * x.shape[0], joined.unfold(0, 2, 1)

    def graphs() -> list[Any]:
        rows = torch.export.Dim("rows", min=2, max=40)
        sizes = ({0: rows}, {0: torch.export.Dim("others", min=2, max=40)})
        inputs = torch.ones(3, 4), torch.ones(6, 2, 4)
        program = torch.export.export(Parts(), inputs, dynamic_shapes=sizes)
        found = []
        for _ in range(2):
            program = program.run_decompositions()
            values = [node.meta.get("val") for node in program.graph.nodes]
            shapes = [(str(v.shape), str(v.stride())) for v in values if hasattr(v, "shape")]
            found.append((program.graph_module.code, shapes, str(program.range_constraints)))
        return found

    expected = graphs()
    usual = {name: getattr(SymNode, name) for name in symbolic_arithmetic.OPERATIONS}
    with symbolic_arithmetic.remembered():
        assert graphs() == expected
    assert usual == {name: getattr(SymNode, name) for name in symbolic_arithmetic.OPERATIONS}
    assert any("s" in shape for _, shapes, _ in expected for shape, _ in shapes)


def test_attention_that_is_not_looked_for_has_an_operator_that_no_delegate_takes() -> None:
    delegated = xnnpack_partitioner().target_partitioner_configs.keys()
    assert "_softmax.default" in delegated
    for pattern in sdpa.get_graphs():
        assert exir_ops.edge.aten.any.dim in {node.target for node in pattern.graph.nodes}
    assert "any.dim" not in delegated


def test_a_search_for_an_interpolation_would_leave_what_a_delegate_has() -> None:
    bilinear_2d._get_bilinear_2d_graphs.cache_clear()
    for pattern in bilinear_2d.get_graphs():
        search = ConvertToUpsampleBilinear2d(exported_program=None)
        found = search.call(pattern).graph_module.graph
        called = [node.target for node in found.nodes if node.op == "call_function"]
        assert called == [exir_ops.edge.aten.upsample_bilinear2d.vec]
    delegated = xnnpack_partitioner().target_partitioner_configs.keys()
    assert "upsample_bilinear2d.vec" in delegated
    assert "upsample_bilinear2d.default" not in delegated


def test_delegates_are_those_that_xnnpacks_passes_make_where_all_are_traced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Found(torch.nn.Module):
        """What many of the passes change."""

        def __init__(self) -> None:
            super().__init__()
            self.long, self.wide = torch.nn.Conv1d(4, 4, 3), torch.nn.Conv2d(4, 4, 3, padding=1)
            self.norm, self.alone = torch.nn.BatchNorm2d(4), torch.nn.BatchNorm2d(4)
            self.prelu, self.linear = torch.nn.PReLU(4), torch.nn.Linear(6, 5)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            wide = torch.relu(self.norm(self.wide(x)))
            pooled = torch.nn.functional.max_pool2d(self.prelu(wide), 2) * 2
            many = torch.cat([y, y + 1, y * 2, y, y - 1, y * 3, y], 1)
            return pooled + self.alone(pooled), torch.relu(self.linear(y)), self.long(y), many

    torch.manual_seed(0)
    model = Found().eval()
    program = torch.export.export(model, (torch.randn(2, 4, 6, 6), torch.randn(2, 4, 6)))

    def lowered() -> bytes:
        partitioner = [XnnpackPartitioner()]
        edge = to_edge_transform_and_lower(program, partitioner=partitioner)
        return bytes(edge.to_executorch().buffer)

    def counted(self: Any, graph_module: torch.fx.GraphModule) -> Any:
        traced.append(self)
        return trace(self, graph_module)

    traced: list[Any] = []
    trace = _ExportPassBase.call
    monkeypatch.setattr(_ExportPassBase, "call", counted)
    lowered()  # XNNPACK's patterns are traced once
    traced.clear()
    expected, all_traced = lowered(), len(traced)
    with xnnpack_passes.traced_where_they_change():
        assert lowered() == expected
    assert len(traced) < 2 * all_traced


def test_interpolation_and_attention_are_exported() -> None:
    class Both(torch.nn.Module):
        def forward(self, image: torch.Tensor, q: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return (
                torch.nn.functional.interpolate(image, scale_factor=2, mode="bilinear"),
                torch.nn.functional.scaled_dot_product_attention(q, q, q, torch.zeros(4, 4)),
            )

    examples = (torch.randn(1, 2, 3, 3), torch.randn(1, 2, 4, 8))
    ps.export(Both(), {"forward": ps.Method("forward", examples)})  # compares them with the module


def pairs() -> Iterator[tuple[torch.Tensor, torch.Tensor, bool, bool]]:
    """Two tensors, whether their bits are the same, and whether they hold the same."""
    x = torch.randn(5, 7)
    yield x, x.clone(), True, True
    yield x, x + (x == x.max()), False, False
    yield x.t(), x.t().clone(), True, True
    yield x[:, ::2], x[:, ::2].clone(), True, True
    yield torch.tensor([0.0]), torch.tensor([-0.0]), False, True
    yield torch.tensor([NAN, 1]), torch.tensor([NAN, 1]), True, True
    yield torch.tensor([NAN, 1]), torch.tensor([-NAN, 1]), False, True
    yield torch.tensor([NAN, 1]), torch.tensor([NAN, 2]), False, False
    yield torch.tensor([NAN, 1]), torch.tensor([1, NAN]), False, False
    yield torch.tensor([float("inf")]), torch.tensor([-float("inf")]), False, False
    z = torch.tensor([1 + 2j])
    yield z.conj(), z, False, False
    yield z.conj(), torch.tensor([1 - 2j]), True, True
    yield z.conj().imag, torch.tensor([-2.0]), True, True
    yield torch.tensor([True, False]), torch.tensor([True, True]), False, False
    yield torch.zeros(0, 3), torch.zeros(0, 3), True, True
    yield torch.tensor(3), torch.tensor(3), True, True


@pytest.mark.parametrize(("a", "b", "bits", "values"), list(pairs()))
def test_tensors_are_compared_by_bits_and_by_values(
    a: torch.Tensor, b: torch.Tensor, bits: bool, values: bool
) -> None:
    assert identical(a, b) is bits
    assert identical(b, a) is bits
    assert same_values(a, b) is values
    assert same_values(b, a) is values


def test_unpacked_weights_are_those_of_their_tiles_within_and_after_the_block() -> None:
    weights = [torch.randn(columns, 24) for columns in (16, 33, 33)]
    tiles = [packed.pack_floats(weight) for weight in weights]
    x = torch.randn(3, 24)
    with unpacked.kept():
        for _ in range(2):
            for weight, packed_weight in zip(weights, tiles, strict=True):
                found = torch.ops.polystate.packed_linear(x, packed_weight, len(weight), None)
                torch.testing.assert_close(found, x @ weight.T)
        first = unpacked.unpacked(tiles[0], 16, lambda: weights[1])
        assert torch.equal(first, weights[0])
    tiles[0].mul_(2)
    found = torch.ops.polystate.packed_linear(x, tiles[0], 16, None)
    torch.testing.assert_close(found, x @ (2 * weights[0]).T)


def test_weights_over_the_limit_are_unpacked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "_LIMIT", 100)
    calls = []
    weight = torch.randn(16, 24)
    with unpacked.kept():
        for _ in range(2):
            unpacked.unpacked(weight, 16, lambda: calls.append(1) or weight)
    assert len(calls) == 2
