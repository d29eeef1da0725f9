"""``polystate-export SOURCE OUT``: makes an artifact of a module's methods, or of a model."""

from __future__ import annotations

import argparse
import contextlib
import enum
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import polystate
from polystate.artifact import check_destination
from polystate.cli.options import add_options, flags, overrides
from polystate.cli.progress import step
from polystate.cli.quiet import prints_to_stderr, quiet_libraries, quiet_transformers
from polystate.cli.source import (
    FORMS,
    FunctionSource,
    PretrainedSource,
    Source,
    SourceError,
    parse_source,
)
from polystate.errors import (
    ArtifactError,
    ContractError,
    Error,
    ExportError,
    IoError,
)
from polystate.quiet import verbose

if TYPE_CHECKING:
    from polystate.export import Program

DESCRIPTION = f"""\
Exports every method of a PyTorch module, with its state, or a model of transformers, with its
tokenizer, into one artifact. SOURCE is one of

{FORMS}

The function takes no arguments and returns a pair (module, methods), as polystate.export takes
them, or a program that polystate.export has made. Its file is executed.
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
        with verbose() if options.verbose else contextlib.nullcontext():
            _export(options)
    except _ExitError as refusal:
        return _report(refusal.status, str(refusal))
    except Error as error:
        if options.verbose and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        return _report(_status_of(error), str(error))
    except ModuleNotFoundError as error:
        told = f"{error.name} is not installed: pip install 'polystate[export]'"
        return _report(ExitStatus.ENGINE, told)
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
    add("source", metavar="SOURCE", help="a function, or a model of transformers")
    add(
        "out",
        metavar="OUT",
        type=Path,
        nargs="?",
        help="the artifact's directory; an older one is replaced",
    )
    add("--explain", action="store_true", help="say how far each method gets on each backend")
    add("--json", action="store_true", help="with --explain: as JSON")
    add("--html", metavar="FILE", type=Path, help="with --explain: as a page with pictures, too")
    add("--no-rewrites", action="store_true", help="with --explain: write and try no other code")
    add("--verbose", action="store_true", help="show what torch and executorch say, too")
    add("--report", action="store_true", help="print how state is updated, and why so")
    add(
        "--bundled",
        metavar="FILE",
        type=Path,
        help="write the program with recorded calls for ExecuTorch's own runtime, too",
    )
    add("--version", action="version", version=f"polystate-export {polystate.__version__}")
    add_options(parser)
    return parser


def _export(options: argparse.Namespace) -> None:
    try:
        source = parse_source(options.source)
        arguments = overrides(options, source)
    except SourceError as error:
        raise _ExitError(ExitStatus.USAGE, str(error)) from error
    _refuse_misplaced(options)
    if options.explain:
        _explain(source, arguments, options)
        return
    if options.out is None:
        raise _ExitError(ExitStatus.USAGE, "OUT is missing")
    if options.bundled is not None and isinstance(source, PretrainedSource):
        raise _ExitError(
            ExitStatus.USAGE, "--bundled is for functions: models have operators of polystate's own"
        )
    check_destination(options.out)
    if not options.verbose:
        quiet_libraries()
    with prints_to_stderr():
        if isinstance(source, PretrainedSource):
            program = _export_model(source, options.out, arguments)
        else:
            program = _export_function(source, options.out, arguments)
        if options.bundled is not None:
            with step(f"writing {options.bundled}"):
                program.save_bundled(options.bundled)
    if options.report:
        _print(program.report())


def _refuse_misplaced(options: argparse.Namespace) -> None:
    """Refuses options that have no effect with ``--explain``, or without it."""
    misplaced = ("report", "bundled") if options.explain else ("json", "html", "no_rewrites")
    for name in misplaced:
        if getattr(options, name):
            told = "has no meaning for" if options.explain else "is for"
            raise _ExitError(ExitStatus.USAGE, f"--{name.replace('_', '-')} {told} --explain")


def _explain(source: Source, arguments: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Tells how far each method gets; exit status 4 where no backend exports all."""
    unknown = arguments.keys() - {"backend"}
    if not isinstance(source, FunctionSource) or unknown or options.out is not None:
        told = f"takes no {flags(dict.fromkeys(unknown))}" if unknown else "takes a function alone"
        raise _ExitError(ExitStatus.USAGE, f"--explain {told}")
    if not options.verbose:
        quiet_libraries()
    with prints_to_stderr():
        function = _function(source)
        module, methods = _module_and_methods(source, _called(function))
        from polystate.export import explain

        given = [arguments["backend"]] if "backend" in arguments else None
        with step(f"exporting {len(methods)} methods of {type(module).__name__}"):
            explanation = explain(
                module,
                methods,
                backends=given,
                rewrites=not options.no_rewrites,
                called_at=_line_of(function),
            )
        if options.html is not None:
            explanation.html(options.html)
    _print(explanation.to_json() if options.json else str(explanation))
    if not explanation.works:
        raise _ExitError(ExitStatus.INPUT, "no backend that was tried exports all methods")


def _export_model(source: PretrainedSource, out: Path, arguments: Mapping[str, Any]) -> Program:
    with step("loading transformers"):
        quiet_transformers()
        from polystate.recipes.pretrained import export_pretrained
    with step(f"exporting {source} to {out}"):
        return export_pretrained(source.name, out, **arguments)


def _export_function(source: FunctionSource, out: Path, arguments: Mapping[str, Any]) -> Program:
    program = _program(source, _loaded(source), arguments)
    with step(f"writing {out}"):
        program.save(out)
    return program


def _loaded(source: FunctionSource) -> Any:
    """What the user's function returns."""
    return _called(_function(source))


def _function(source: FunctionSource) -> Callable[[], Any]:
    with step(f"loading {source}"), _of_the_user():
        try:
            return source.load()
        except SourceError as error:
            raise _ExitError(ExitStatus.INPUT, str(error)) from error


def _called(function: Callable[[], Any]) -> Any:
    with _of_the_user():
        return function()


def _line_of(function: Callable[[], Any]) -> str:
    """Where a function is written, as messages tell lines; empty where that is not known."""
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code is not None else ""


def _program(source: FunctionSource, found: Any, arguments: Mapping[str, Any]) -> Program:
    """Export what the user's function returned, unless it did so itself."""
    from polystate.export import Program, export  # torch takes seconds: usage errors come first

    if isinstance(found, Program):
        if arguments:
            raise _ExitError(
                ExitStatus.USAGE,
                f"{source} returned an exported program: {flags(arguments)} comes too late",
            )
        return found
    module, methods = _module_and_methods(source, found)
    with step(f"exporting {len(methods)} methods of {type(module).__name__}"):
        return export(module, methods, **arguments)


def _module_and_methods(source: FunctionSource, found: Any) -> tuple[Any, Mapping[str, Any]]:
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], Mapping)):
        raise _ExitError(
            ExitStatus.INPUT,
            f"{source} must return (module, methods) or a program of polystate.export, "
            f"and returned {type(found).__name__}",
        )
    module, methods = found
    return module, methods


@contextlib.contextmanager
def _of_the_user() -> Iterator[None]:
    """Show where the user's own code failed."""
    try:
        yield
    except (Error, _ExitError):
        raise
    except (Exception, SystemExit) as error:
        _fail_in_user_code(error)


def _fail_in_user_code(error: Exception | SystemExit) -> NoReturn:
    what = "called sys.exit" if isinstance(error, SystemExit) else "failed"
    trace = _without_our_frames(error.__traceback__)
    lines = "".join(traceback.format_exception(type(error), error, trace)).rstrip()
    raise _ExitError(ExitStatus.INPUT, f"the source {what}\n{lines}") from error


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
