"""A method as a graph, and the calls at which it is compared with the module."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from polystate.export.method import Draw
from polystate.export.tracing.assumptions import Assumptions
from polystate.export.tracing.complex_boundary import ComplexPlaces
from polystate.export.tracing.dimensions import Dimensions


@dataclass(frozen=True)
class Traced:
    """A method's graph.

    Attributes
    ----------
    function
        Takes and gives pairs [..., 2] for complex tensors; so do the graphs.
    complex_places
        Which arguments and results are such pairs.
    args, kwargs
        The user's examples, each with memory of its own.
    dimensions
        The sizes that vary, within the ranges that the trace covers.
    exported
        The graph as torch.export gave it.
    functional
        The graph without mutation: changed buffers and inputs are outputs.
    assumptions
        What torch.export assumed.
    how
        The rung of the ladder that was taken, and which paths of the module, for the report.
    draw
        The user's own way to draw arguments, if there is one.
    """

    name: str
    function: Callable[..., Any]
    complex_places: ComplexPlaces
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dimensions: Dimensions
    exported: ExportedProgram
    functional: ExportedProgram
    assumptions: Assumptions
    how: str
    draw: Draw | None

    def points(self, *, at_corners: bool) -> list[tuple[str, Any, Any]]:
        """The example, and the corners of the ranges if they are wanted.

        Each as words for where it is, positional and keyword arguments.
        """
        points = [("at the example's sizes", self.args, self.kwargs)]
        for sizes in self.dimensions.corners() if at_corners else []:
            where = "at " + ", ".join(f"{key} = {size}" for key, size in sizes.items())
            resized = self.dimensions.resized(self.args, self.kwargs, sizes)
            points.append((where, *self.made_valid(*resized)))
        return points

    def made_valid(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """What the user's draw makes of an example's elements, which are repeated at other sizes.

        They are as they were where it fails, which verification tells the user.
        """
        if self.draw is None:
            return args, kwargs
        copies = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        with contextlib.suppress(Exception):  # the user's code may raise anything
            args, kwargs = self.draw(torch.Generator().manual_seed(0), *copies)
        return args, kwargs
