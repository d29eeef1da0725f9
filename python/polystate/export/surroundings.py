"""What holds while a module is exported: PyTorch corrected, in one thread at a time."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

import torch

from polystate.export import hooks
from polystate.export.graph import late_code
from polystate.export.packing import quantized
from polystate.export.tracing import (
    composite_operators,
    distributions,
    fast_paths,
    node_histories,
    reductions,
    shape_rules,
    slices,
    symbolic_arithmetic,
    value_sizes,
    vector_signs,
)
from polystate.export.tracing.decompositions import pytorch_table
from polystate.quiet import quiet

# Of all that exports, in whichever thread: they change PyTorch for all of these.
_lock = threading.RLock()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Waits for exports of other threads, and has them wait; a thread may come here again."""
    with _lock:
        yield


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Starts Python's garbage collector after 50,000 new objects, not after 700, in the block.

    Graphs have many objects, of which most live until the export ends.
    """
    usual = gc.get_threshold()
    if usual[0] > 0:  # else Python does not look at all
        gc.set_threshold(max(usual[0], 50_000), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@contextlib.contextmanager
def surroundings(model: torch.nn.Module, quantization: str | None) -> Iterator[None]:
    """What holds while a module is exported: PyTorch corrected and quiet, linears quantized.

    In one thread alone, which may come here again; others wait.
    """
    with (
        alone(),
        quantized(model, quantization),
        quiet(),
        hooks.set_aside(),
        fast_paths.closed(),
        composite_operators.found_once(),
        pytorch_table.corrected(),
        node_histories.shared(),
        symbolic_arithmetic.remembered(),
        late_code.written_when_asked_for(),
        _rare_collections(),
        reductions.named(),
        distributions.validated(),
        vector_signs.chosen(),
        shape_rules.known(),
        slices.of_any_size(),
        value_sizes.bounded(),
    ):
        yield
