"""Says what torch.export or the lowering did not like, in words that a user can act on."""

from __future__ import annotations

import re
import sysconfig
import traceback
from pathlib import Path

import executorch
import torch

_LIBRARIES = (
    sysconfig.get_path("stdlib"),
    str(Path(torch.__file__).parent),
    str(Path(next(iter(executorch.__path__)))),
    str(Path(__file__).parent.parent),
)

# Lines of torch's messages that say nothing about the user's program.
_NOISE = (
    "For more information",
    "For extended logs",
    "For C++ stack trace",
    "For more debugging help",
    "If you suspect the guard",
    "The error above occurred",
    "Use tlparse",
    "Original traceback",
    "None",
    "While executing",
    "consider using data-dependent friendly APIs",
    "Caused by:",
)

_NOISE_INSIDE = re.compile(r'For more information, run with TORCH_LOGS="[^"]*"\.?')
_MOST_LINES = 6

# ExecuTorch's refusal goes on for a page about how to build ExecuTorch.
_NOT_CORE = re.compile(r"Operator torch\._ops\.(\S+) is not in Core ATen opset")

_NO_KERNEL = (
    "the runtime has no kernel for this operator; write it with operators of the core ATen set"
)

# What to write instead, by the name of the exception or a part of its message.
_REWRITES = (
    (
        "data-dependent expression",
        "a number read from a tensor must be bounded before it is used: k = i.item(); "
        "torch._check(k >= 0); torch._check(k < n); or index with a tensor of one dimension or "
        "more: cache.index_copy_(0, i.reshape(1), x[None])",
    ),
    (
        "Constraints violated",
        "narrow the Dim to the sizes for which the code takes one path, and export one method for "
        "each path",
    ),
    (
        "is mutated in the forward method",
        "register the tensor as a buffer: self.register_buffer(name, tensor)",
    ),
    (
        "fake tensor in the exported program constant's list",
        "change a buffer itself, not its .data or a NumPy array over it: self.buffer.add_(x)",
    ),
    (
        "is missing nn_module_stack metadata",
        "a buffer is set to another buffer itself; set it to a copy: self.a, self.b = "
        "self.b.clone(), self.a.clone()",
    ),
    ("Missing out variants", _NO_KERNEL),
    ("is not in Core ATen opset", _NO_KERNEL),
)


def explain(error: BaseException) -> str:
    """One line: what went wrong, and the user's line where it is known."""
    outside = _NOT_CORE.search(str(error))
    if outside:
        return f"the operator '{outside[1]}' is not of the core ATen set"
    lines = [line.strip(" \t-") for line in str(error).splitlines()]
    told = [_NOISE_INSIDE.sub("", line) for line in lines if line and not line.startswith(_NOISE)]
    text = " ".join(told[:_MOST_LINES]) or type(error).__name__
    where = user_line(error)
    return f"{text} (at {where})" if where else text


def rewrite(error: BaseException) -> str | None:
    """What to write instead, where we know it."""
    return next((advice for mark, advice in _REWRITES if mark in str(error)), None)


def user_line(error: BaseException) -> str:
    """The innermost line of an exception's traceback that is no library's; empty: there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((*_LIBRARIES, "<")):
            return f"{frame.filename}:{frame.lineno}: {frame.line}"
    return ""
