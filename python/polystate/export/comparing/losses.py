"""What each quantized layer loses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from polystate.export.comparing.runs import LayerCall
from polystate.export.comparing.values import ModuleCall
from polystate.export.packing import is_quantized


@dataclass(frozen=True)
class Loss:
    """What a quantized layer loses against the module in floats, in a call.

    Both are root mean squares of differences in parts of that of the layer's floats: 0.01 is 1%.

    Attributes
    ----------
    layer, kind
        The module's path and class.
    call
        How often the method had called it before.
    alone
        With the inputs that it gets in floats: what its own quantization costs.
    reached
        With the inputs that it gets in the quantized program: what is lost up to here.
    line
        The user's line that calls it; empty where it is not known.
    """

    method: str
    layer: str
    kind: str
    call: int
    alone: float
    reached: float
    line: str = ""


def losses(
    method: str,
    floats: Mapping[ModuleCall, LayerCall],
    reached: Mapping[ModuleCall, torch.Tensor],
    lines: Mapping[ModuleCall, str],
) -> list[Loss]:
    """The losses of a method's layers that are quantized now, the largest first.

    Parameters
    ----------
    floats
        What the modules did before they were quantized.
    reached
        What they return in the quantized program.
    lines
        The user's lines.
    """
    found = []
    for call, layer in floats.items():
        expected = layer.result
        if not (is_quantized(layer.module) and isinstance(expected, torch.Tensor)):
            continue
        with torch.no_grad():
            quantized = layer.module(*layer.args, **layer.kwargs)
        alone = part_lost(quantized, expected)
        value = reached.get(call)
        through = alone if value is None else part_lost(value, expected)
        kind = type(layer.module).__name__
        found.append(Loss(method, call[0], kind, call[1], alone, through, lines.get(call, "")))
    return sorted(found, key=lambda loss: -loss.alone)


def part_lost(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The root mean square of a difference, in parts of that of the expected values."""
    if expected.numel() == 0 or found.shape != expected.shape:
        return 0.0 if expected.numel() == 0 else float("inf")
    size = expected.double().square().mean().sqrt()
    off = (found.double() - expected.double()).square().mean().sqrt()
    return float(off / size) if size > 0 else (0.0 if off == 0 else float("inf"))
