"""``polystate-export SOURCE OUT``: exports a module's methods into an artifact."""

from __future__ import annotations

import argparse
import contextlib
import enum
import json
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import polystate
from polystate.artifact import check_destination
from polystate.cli.progress import step
from polystate.cli.source import FORMS, SourceError, parse_source
from polystate.errors import (
    ArtifactError,
    ContractError,
    Error,
    ExportError,
    IoError,
)

if TYPE_CHECKING:
    from polystate.export import Program

DESCRIPTION = f"""\
Exports every method of a PyTorch module, with its state, into one artifact.

SOURCE names a Python function: {FORMS}.
It takes no arguments and returns a pair (module, methods), as polystate.export takes them, or a
program that polystate.export has made. Its file is executed.
"""

EPILOG = """\
exit status:
  0  the artifact is there
  1  it could not be written
  2  the command line is wrong
  3  OUT is something that must not be replaced
  4  SOURCE cannot be exported
  5  the backend cannot do it
"""


class ExitStatus(enum.IntEnum):
    """What the command returns to the shell; the same numbers as ``polystate``."""

    SUCCESS = 0
    OUTPUT = 1
    USAGE = 2
    ARTIFACT = 3
    INPUT = 4
    ENGINE = 5


# The options by the arguments of ``polystate.export`` that they set.
_OPTIONS = {
    "backend": "--backend",
    "quantization": "--quantization",
    "constants": "--constant",
    "debug_dir": "--debug-dir",
}

_INTERRUPTED = 128 + signal.SIGINT


class _ExitError(Exception):
    """Ends the command with a status and a message."""

    def __init__(self, status: ExitStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        _export(options)
    except _ExitError as refusal:
        return _report(refusal.status, str(refusal))
    except Error as error:
        return _report(_status_of(error), str(error))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception:
        traceback.print_exc()
        return _report(ExitStatus.ENGINE, "an error that polystate does not expect; see above")
    return ExitStatus.SUCCESS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="polystate-export",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("source", metavar="SOURCE", help="the function that returns what to export")
    add(
        "out",
        metavar="OUT",
        type=Path,
        help="the artifact's directory; an older one is replaced",
    )
    add("--backend", choices=["portable", "xnnpack"], help="what computes (default: xnnpack)")
    add("--quantization", choices=["none", "q8"], help="of the weights (default: none)")
    add(
        "--constant",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a value that programs read from the artifact: true, 64, 0.5 or a text; repeatable",
    )
    add("--debug-dir", metavar="DIR", type=Path, help="keep graphs, memory plan and ETRecord here")
    add("--report", action="store_true", help="print how state is updated, and why so")
    add("--version", action="version", version=f"polystate-export {polystate.__version__}")
    return parser


def _export(options: argparse.Namespace) -> None:
    try:
        source = parse_source(options.source)
        overrides = _overrides(options)
    except SourceError as error:
        raise _ExitError(ExitStatus.USAGE, str(error)) from error
    check_destination(options.out)
    with step(f"loading {options.source}"), _of_the_user():
        try:
            found = source.load()()
        except SourceError as error:
            raise _ExitError(ExitStatus.INPUT, str(error)) from error
    program = _program(options.source, found, overrides)
    with step(f"writing {options.out}"):
        program.save(options.out)
    if options.report:
        _print(program.report())


def _overrides(options: argparse.Namespace) -> dict[str, Any]:
    """Give what the user said about the export, as arguments of ``polystate.export``."""
    overrides: dict[str, Any] = {}
    if options.backend is not None:
        overrides["backend"] = options.backend
    if options.quantization is not None:
        overrides["quantization"] = None if options.quantization == "none" else options.quantization
    if options.constant:
        overrides["constants"] = dict(map(_constant, options.constant))
    if options.debug_dir is not None:
        overrides["debug_dir"] = options.debug_dir
    return overrides


def _constant(text: str) -> tuple[str, bool | int | float | str]:
    """Read NAME=VALUE; VALUE is a boolean or a number where JSON reads it as such, else a text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SourceError(f"'{text}' is not of the form NAME=VALUE")
    with contextlib.suppress(ValueError):
        read = json.loads(value)
        if isinstance(read, bool | int | float):
            return name, read
    return name, value


def _program(source: str, found: Any, overrides: Mapping[str, Any]) -> Program:
    """Export what the user's function returned, unless it did so itself."""
    from polystate.export import Program, export  # torch takes seconds: usage errors come first

    if isinstance(found, Program):
        if overrides:
            names = ", ".join(_OPTIONS[name] for name in overrides)
            raise _ExitError(
                ExitStatus.USAGE, f"{source} returned an exported program: {names} comes too late"
            )
        return found
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], Mapping)):
        raise _ExitError(
            ExitStatus.INPUT,
            f"{source} must return (module, methods) or a program of polystate.export, "
            f"and returned {type(found).__name__}",
        )
    module, methods = found
    with step(f"exporting {len(methods)} methods of {type(module).__name__}"):
        return export(module, methods, **overrides)


@contextlib.contextmanager
def _of_the_user() -> Iterator[None]:
    """Show where the user's own code failed."""
    try:
        yield
    except (Error, _ExitError):
        raise
    except Exception as error:
        _fail_in_user_code(error)


def _fail_in_user_code(error: Exception) -> NoReturn:
    trace = _without_our_frames(error.__traceback__)
    lines = traceback.format_exception(type(error), error, trace)
    raise _ExitError(ExitStatus.INPUT, "the source failed\n" + "".join(lines).rstrip()) from error


def _without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    """Drop the frames of this package and of the import system at the top."""
    ours = str(Path(__file__).parent)
    while trace is not None and trace.tb_next is not None:
        file = trace.tb_frame.f_code.co_filename
        if not (file.startswith((ours, "<frozen importlib")) or "/importlib/" in file):
            break
        trace = trace.tb_next
    return trace


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        sys.stdout = None  # the reader went away, and has what it wanted
    except OSError as error:
        sys.stdout = None
        raise _ExitError(ExitStatus.OUTPUT, f"cannot write to standard output: {error}") from error


def _report(status: ExitStatus, message: str) -> ExitStatus:
    print(f"polystate-export: {message}", file=sys.stderr)
    return status


def _status_of(error: Error) -> ExitStatus:
    match error:
        case ExportError() | ContractError():
            return ExitStatus.INPUT
        case ArtifactError():
            return ExitStatus.ARTIFACT
        case IoError():
            return ExitStatus.OUTPUT
        case _:
            return ExitStatus.ENGINE


if __name__ == "__main__":
    sys.exit(main())
