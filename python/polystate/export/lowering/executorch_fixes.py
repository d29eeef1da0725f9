"""Corrections of executorch 1.5.1 that hold while a program is lowered.

Each says what goes wrong without it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from executorch.backends.xnnpack.operators import node_visitor
from executorch.exir.emit._emitter import _Emitter
from executorch.exir.program import _program
from executorch.exir.tensor import TensorSpec
from torch.export import ExportedProgram


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """All corrections, for the length of the block."""
    with (
        mock.patch.object(
            _program,
            "lift_constant_tensor_pass",
            _in_placeholder_order(_program.lift_constant_tensor_pass),
        ),
        mock.patch.object(
            node_visitor.NodeVisitor,
            "get_serialized_buffer_index",
            _with_distinct_keys(node_visitor.NodeVisitor.get_serialized_buffer_index),
        ),
        mock.patch.object(
            _Emitter,
            "_tensor_spec_to_evalue",
            _with_state_apart(_Emitter._tensor_spec_to_evalue),
        ),
    ):
        yield


def _in_placeholder_order(lift: Any) -> Any:
    """Sorts the specs of lifted constants as their placeholders are.

    In a method without inputs they come in another order. Such a program fails to verify
    (``SpecViolationError``), or would swap two constants.
    """

    def lift_in_order(program: ExportedProgram) -> ExportedProgram:
        program = lift(program)
        position = {
            node.name: i for i, node in enumerate(program.graph.nodes) if node.op == "placeholder"
        }
        program.graph_signature.input_specs.sort(key=lambda spec: position[spec.arg.name])
        return program

    return lift_in_order


def _with_distinct_keys(serialize: Any) -> Any:
    """XNNPACK's weight cache names packed weights by the bytes of the unpacked ones alone.

    Two weights of the same bytes but other scales, shapes or layouts would share one packed copy.
    Here the name depends on all of these. The cache finds the name by the address of the bytes, so
    that each name needs bytes of its own: the first keeps them as they are, and for another one
    they are stored again, followed by the name. Weights that agree in all are still stored once.
    """
    first_key: dict[str, str] = {}

    def serialize_with_distinct_key(visitor: Any, *args: Any, **kwargs: Any) -> int:
        index: int = serialize(visitor, *args, **kwargs)
        names = ("tensor", "graph", "ids", "nhwc", "swap", "quantization", "fp32", "groups")
        named = dict(zip(names, args, strict=False))
        graph = named.get("graph", kwargs.get("xnn_graph"))
        node = named.get("tensor", kwargs.get("tensor"))
        quantization = named.get("quantization", kwargs.get("quant_params"))
        if index == 0 or graph is None or index >= len(graph.constant_data):
            return index
        entry = graph.constant_data[index]
        layout = (
            named.get("nhwc", kwargs.get("convert_to_nhwc")),
            named.get("swap", kwargs.get("swap_in_out_for_weights")),
            named.get("groups", kwargs.get("groups", 1)),
        )
        source = quantization.q_input if quantization is not None else node
        assert source is not None
        value = source.meta["val"]
        digest = hashlib.sha256(entry.named_key.encode())
        digest.update(repr((tuple(value.shape), str(value.dtype), layout)).encode())
        if quantization is not None and not quantization.is_dynamic:
            digest.update(_quantization_bytes(quantization))
        key = digest.hexdigest()
        store = visitor._named_data_store
        data = store.buffers[store.key_to_buffer_idx[entry.named_key]]
        if first_key.setdefault(entry.named_key, key) != key:
            data = bytes(data) + digest.digest()
        store.add_named_data(key, data, alignment=node_visitor.CONSTANT_TENSOR_ALIGNMENT)
        entry.named_key = key
        return index

    return serialize_with_distinct_key


def _with_state_apart(emit: Any) -> Any:
    """Finds the initial values of state among those of state.

    Equal bytes are stored once, state and constants each in a table of their own. State that has a
    name is looked up in the constants' table: where a constant has the same bytes, the state would
    get that index into its own table, and start with what some other state starts with.
    """

    def emit_with_state_apart(emitter: Any, spec: TensorSpec, *args: Any, **kwargs: Any) -> Any:
        if spec.mem_id is None or spec.mem_offset is None:
            return emit(emitter, spec, *args, **kwargs)
        emitted = emitter.program_state
        of_state = emitted.cached_spec_mutable_hash_values
        with mock.patch.object(emitted, "cached_spec_hash_values", of_state):
            return emit(emitter, spec, *args, **kwargs)

    return emit_with_state_apart


def _quantization_bytes(quantization: Any) -> bytes:
    parts = [
        repr((quantization.qmin, quantization.qmax, str(quantization.dtype), quantization.axis))
    ]
    parts += [repr((quantization.per_channel, quantization.group_size))]
    raw = "".join(parts).encode()
    for value in (quantization.scale, quantization.zp):
        if isinstance(value, torch.Tensor):
            raw += value.detach().contiguous().cpu().view(torch.uint8).numpy().tobytes()
        else:
            raw += repr(value).encode()
    return raw
