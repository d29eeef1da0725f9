"""Says what torch.export or the lowering did not like, in words that a user can act on."""

from __future__ import annotations

import re

from polystate.export.diagnosis.lines import line_of_error
from polystate.export.diagnosis.problems import problem_of

# Lines of torch's messages that say nothing about the user's program.
_NOISE = (
    "For more information",
    "For extended logs",
    "For C++ stack trace",
    "For more debugging help",
    "If you suspect the guard",
    "The error above occurred",
    "The following call raised this error",
    "Use tlparse",
    "Original traceback",
    "None",
    "While executing",
    "consider using data-dependent friendly APIs",
    "Caused by:",
    "File ",
    "If you are a Facebook employee",
)

_NOISE_INSIDE = re.compile(r'For more information, run with TORCH_LOGS="[^"]*"\.?')

# What follows is of PyTorch's or ExecuTorch's own: graphs, registrations, advice to developers.
_END = re.compile(
    r"Here is the node in the graph module|is only available for these backends|"
    r"See https?://|Please see the following|This could be because"
)
_MOST_LINES = 3


def explain(error: BaseException) -> str:
    """One line: what went wrong, and the user's line where it is known."""
    problem = problem_of(error)
    if problem is not None:
        return f"{problem.cause}{_at(problem.line)}; {problem.rewrite}"
    return f"{said(error)}{_at(line_of_error(error))}"


def said(error: BaseException) -> str:
    """What a library says, without what it tells its developers."""
    text = _END.split(str(error))[0]
    lines = [line.strip(" \t-") for line in text.splitlines()]
    told = [_NOISE_INSIDE.sub("", line) for line in lines if line and not line.startswith(_NOISE)]
    return " ".join(told[:_MOST_LINES]) or type(error).__name__


def _at(line: str) -> str:
    return f" (at {line})" if line else ""
