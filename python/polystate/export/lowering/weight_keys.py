"""Names constants for XNNPACK's weight cache by all that is packed with them.

The cache keeps one packed copy of each name, and finds the name of a weight by the address of its
bytes. XNNPACK names constants by their bytes alone, so that two weights of the same bytes but other
scales, shapes, layouts or, where they are quantized, biases would share one packed copy. (A bias of
float32 has a name of its own, which the cache adds to its weight's.)
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from executorch.backends.xnnpack.operators import node_visitor
from executorch.backends.xnnpack.operators.quant_params import QuantParams
from executorch.backends.xnnpack.utils.utils import get_param_tensor


@contextlib.contextmanager
def distinct_keys() -> Iterator[None]:
    """Names constants so within the block."""
    keys = _Keys()
    visitor = node_visitor.NodeVisitor
    linear_visitor = node_visitor._node_visitor_dict["aten.linear.default"]
    serialize, define = visitor.get_serialized_buffer_index, linear_visitor.define_node
    with (
        mock.patch.object(visitor, serialize.__name__, keys.serializing(serialize)),
        mock.patch.object(linear_visitor, define.__name__, keys.defining(define)),
    ):
        yield


class _Keys:
    """The names given so far.

    Each name needs bytes of its own: the first of some bytes keeps them as they are, and for
    another one they are stored again, followed by the name. Constants that agree in all are stored
    once.
    """

    def __init__(self) -> None:
        self._first: dict[str, str] = {}  # XNNPACK's name -> the first of ours
        self._packed_with: dict[torch.fx.Node, bytes] = {}  # quantized weight -> its bias

    def defining(self, define: Callable[..., None]) -> Callable[..., None]:
        """Defines quantized weights anew for each linear, with its own bias."""

        def define_linear(
            visitor: Any, linear: torch.fx.Node, graph: Any, ids: dict[Any, int], *rest: Any
        ) -> None:
            weight = linear.args[1]
            assert isinstance(weight, torch.fx.Node)
            quantization = QuantParams.from_weights(weight, visitor.exported_program)
            if quantization is not None:
                ids.pop(weight, None)
                ids.pop(quantization.q_input, None)
                self._packed_with[weight] = _bias_bytes(visitor.exported_program, linear)
            define(visitor, linear, graph, ids, *rest)

        return define_linear

    def serializing(self, serialize: Callable[..., int]) -> Callable[..., int]:
        """Serializes a constant and names it."""

        def serialize_with_distinct_key(
            visitor: Any,
            tensor: torch.fx.Node,
            xnn_graph: Any,
            vals_to_ids: Any,
            convert_to_nhwc: bool,
            swap_in_out_for_weights: bool,
            quant_params: Any,
            force_fp32: bool = False,
            groups: int = 1,
        ) -> int:
            layout = (convert_to_nhwc, swap_in_out_for_weights)
            index = serialize(
                visitor, tensor, xnn_graph, vals_to_ids, *layout, quant_params, force_fp32, groups
            )
            if index == 0 or index >= len(xnn_graph.constant_data):
                return index
            entry = xnn_graph.constant_data[index]
            value = (tensor if quant_params is None else quant_params.q_input).meta["val"]
            digest = hashlib.sha256(entry.named_key.encode())
            digest.update(repr((tuple(value.shape), str(value.dtype), (*layout, groups))).encode())
            if quant_params is not None and not quant_params.is_dynamic:
                digest.update(_quantization_bytes(quant_params))
            digest.update(self._packed_with.get(tensor, b""))
            self._rename(visitor._named_data_store, entry, digest)
            return index

        return serialize_with_distinct_key

    def _rename(self, store: Any, entry: Any, digest: Any) -> None:
        key = digest.hexdigest()
        data = store.buffers[store.key_to_buffer_idx[entry.named_key]]
        if self._first.setdefault(entry.named_key, key) != key:
            data = bytes(data) + digest.digest()
        store.add_named_data(key, data, alignment=node_visitor.CONSTANT_TENSOR_ALIGNMENT)
        entry.named_key = key


def _bias_bytes(program: Any, linear: torch.fx.Node) -> bytes:
    bias = linear.args[2] if len(linear.args) > 2 else None
    if bias is None:
        return b"no bias"
    value = get_param_tensor(program, bias)
    return b"bias" + (_bytes(value) if value is not None else str(bias).encode())


def _quantization_bytes(quantization: Any) -> bytes:
    parts = [
        repr((quantization.qmin, quantization.qmax, str(quantization.dtype), quantization.axis))
    ]
    parts += [repr((quantization.per_channel, quantization.group_size))]
    raw = "".join(parts).encode()
    for value in (quantization.scale, quantization.zp):
        raw += _bytes(value) if isinstance(value, torch.Tensor) else repr(value).encode()
    return raw


def _bytes(value: torch.Tensor) -> bytes:
    return value.detach().contiguous().cpu().reshape(-1).view(torch.uint8).numpy().tobytes()
