"""The options of ``polystate-export`` that say how to export, each declared once."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polystate.cli.source import FunctionSource, Source, SourceError
from polystate.recipes.settings import (
    DECODER_ONLY_DEFAULTS,
    ENCODER_DECODER_DEFAULTS,
    QUANTIZATIONS,
    RECIPES,
    TASKS,
)


@dataclass(frozen=True)
class Option:
    """An option that sets an argument of ``polystate.export`` or ``polystate.export_pretrained``.

    Parameters
    ----------
    flag
        What the user writes.
    argument
        What it sets.
    settings
        For argparse.
    """

    flag: str
    argument: str
    settings: Mapping[str, Any]


class _Once(argparse.Action):
    """Stores a value; an option that is given again would have no effect the first time."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string} is given twice")
        setattr(namespace, self.dest, values)


def _name_and_value(text: str) -> tuple[str, bool | int | float | str]:
    """Read NAME=VALUE; VALUE is a boolean or a number where JSON reads it as such, else a text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME=VALUE")
    with contextlib.suppress(ValueError):
        read = json.loads(value)
        if isinstance(read, bool | int | float):
            return name, read
    return name, value


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no integer of 1 or more")
    return int(text)


def _choice(names: tuple[str, ...], **settings: Any) -> Mapping[str, Any]:
    return {"choices": names, **settings}


_OF_EVERY_SOURCE = (
    Option(
        "--backend",
        "backend",
        _choice(("portable", "xnnpack", "aoti"), help="what computes (default: xnnpack)"),
    ),
    Option(
        "--quantization",
        "quantization",
        _choice(("none", *QUANTIZATIONS), help="of the weights (default: none)"),
    ),
    Option(
        "--target",
        "target",
        {
            "metavar": "PROCESSORS",
            "help": "what machine code is for: x86-64-v3, for one (default: this processor)",
        },
    ),
    Option(
        "--profile",
        "profile",
        {
            "action": "store_const",
            "const": True,
            "help": "machine code says when its kernels begin and end, for `polystate run --times`",
        },
    ),
)
_OF_FUNCTIONS = (
    Option(
        "--constant",
        "constants",
        {
            "metavar": "NAME=VALUE",
            "action": "append",
            "type": _name_and_value,
            "help": "a value that programs read from the artifact: true, 64, 0.5 or a text; "
            "repeatable",
        },
    ),
    Option(
        "--debug-dir",
        "debug_dir",
        {
            "metavar": "DIR",
            "type": Path,
            "help": "keep graphs, memory plan and ETRecords here",
        },
    ),
)
_OF_MODELS = (
    Option(
        "--recipe",
        "recipe",
        _choice(tuple(RECIPES), help="a name for a backend with a quantization"),
    ),
    Option(
        "--task",
        "task",
        _choice(
            TASKS,
            metavar="TASK",
            help=f"what the model is for: {', '.join(TASKS)} (default: auto, as its files say)",
        ),
    ),
    Option(
        "--max-length",
        "max_length",
        {
            "metavar": "TOKENS",
            "type": _count,
            "help": "the most of a source, and of a target (default: what the model generates)",
        },
    ),
    Option(
        "--max-batch",
        "max_batch",
        {
            "metavar": "ROWS",
            "type": _count,
            "help": "texts times beams of one step (default: "
            f"{ENCODER_DECODER_DEFAULTS.max_batch}, {DECODER_ONLY_DEFAULTS.max_batch} without an "
            "encoder)",
        },
    ),
    Option(
        "--source-language",
        "source_language",
        {"metavar": "NAME", "help": "of models of many languages, by the tokenizer's names"},
    ),
    Option("--target-language", "target_language", {"metavar": "NAME", "help": "the same"}),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare all options, in groups by the sources that they are for."""
    groups = {
        "every source": _OF_EVERY_SOURCE,
        "functions": _OF_FUNCTIONS,
        "models of transformers": _OF_MODELS,
    }
    for title, options in groups.items():
        group = parser.add_argument_group(f"options of {title}")
        for option in options:
            settings = {"action": _Once, **option.settings}
            group.add_argument(option.flag, dest=option.argument, **settings)


def overrides(given: argparse.Namespace, source: Source) -> dict[str, Any]:
    """Give what the user said about the export, as arguments of the function that does it.

    Raises
    ------
    SourceError
        An option is for another kind of source, or says what another one says, or says it twice.
    """
    kind, own, others = (
        ("a function", _OF_FUNCTIONS, _OF_MODELS)
        if isinstance(source, FunctionSource)
        else ("a model of transformers", _OF_MODELS, _OF_FUNCTIONS)
    )
    for option in others:
        if getattr(given, option.argument) is not None:
            raise SourceError(f"{option.flag} has no meaning for {kind}, as '{source}' is")
    if given.recipe is not None and (given.backend, given.quantization) != (None, None):
        raise SourceError("--recipe stands for --backend and --quantization: leave them out")
    values = {
        option.argument: getattr(given, option.argument) for option in (*_OF_EVERY_SOURCE, *own)
    }
    said = {name: value for name, value in values.items() if value is not None}
    if said.get("quantization") == "none":
        said["quantization"] = None
    if "constants" in said:
        said["constants"] = _constants(said["constants"])
    return said


def _constants(given: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    constants: dict[str, Any] = {}
    for name, value in given:
        if name in constants:
            raise SourceError(f"--constant {name} is given twice: {constants[name]} and {value}")
        constants[name] = value
    return constants


def flags(arguments: Mapping[str, Any]) -> str:
    """The options that set these arguments, as the user wrote them."""
    options = (*_OF_EVERY_SOURCE, *_OF_FUNCTIONS, *_OF_MODELS)
    return ", ".join(option.flag for option in options if option.argument in arguments)
