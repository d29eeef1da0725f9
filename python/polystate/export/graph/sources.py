"""Where in the user's code something comes from."""

from __future__ import annotations

import contextlib
import re
import sys
import traceback
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest import mock

import torch
from torch._guards import SLoc
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.fx.proxy import TracerBase

from polystate.artifact.names import printable

_FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
_PYTORCH = str(Path(torch.__file__).parent)
_OURS = str(Path(__file__).parent.parent)


@contextlib.contextmanager
def recorded_sources() -> Iterator[None]:
    """Record the user's line with every node and assumption that is traced inside the block.

    PyTorch records the lines of functions that are called ``forward`` only, and for assumptions
    on sizes lines of its own where it calls itself.
    """
    innermost = ShapeEnv._get_user_frame

    def users_frame(sizes: ShapeEnv) -> types.FrameType | None:
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and not is_user_code(frame.f_code.co_filename):
            frame = frame.f_back
        return frame or innermost(sizes)

    with (
        mock.patch.object(TracerBase, "_filter_traceback_frames", _innermost_user_frame),
        mock.patch.object(ShapeEnv, "_get_user_frame", users_frame),
    ):
        yield


def _innermost_user_frame(_: TracerBase, frames: traceback.StackSummary) -> traceback.StackSummary:
    users = [frame for frame in frames if is_user_code(frame.filename)]
    return traceback.StackSummary.from_list(users[-1:])


def source_of(nodes: Iterable[Node]) -> str:
    """Give the user's line of the first node that has one: ``model.py:12 in step``, or nothing."""
    for node in nodes:
        frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
        for frame in reversed(frames):
            if is_user_code(frame["path"]):
                return _text(frame["path"], int(frame["line"]), frame["function"])
    return ""


def source_of_guard(location: SLoc) -> str:
    """Give the user's line where PyTorch assumed something of sizes, or nothing."""
    frame = location.framework_loc
    if not isinstance(frame, traceback.FrameSummary) or not is_user_code(frame.filename):
        return ""
    return _text(frame.filename, frame.lineno or 0, frame.name)


def is_user_code(path: str) -> bool:
    """Tell whether a file is neither PyTorch's, nor ours, nor generated."""
    return not path.startswith((_PYTORCH, _OURS, "torch/", "<"))


def _text(path: str, line: int, function: str) -> str:
    return printable(f"{Path(path).name}:{line} in {function}")
