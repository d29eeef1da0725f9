"""Draw faults from the sources, put them in one at a time, and see whether the tests notice.

A fault changes one token or leaves one statement out. Those that a test suite does not notice show
what it lacks; a few of them change nothing that a program could see, which a reader decides.

    python -m tools.seed_faults draw --seed 1 --count 30 --language cpp >faults.jsonl
    python -m tools.seed_faults run faults.jsonl --root ../tree --command 'make test'

The tree that faults are put into is best a worktree of its own: `git worktree add ../tree`.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tools.seed_faults.drawing import EXCLUDED, PARTS, draw, read_sources
from tools.seed_faults.faults import Fault, FaultError, apply, read_faults, revert, write_faults
from tools.seed_faults.trials import Commands, Trial, read_trials, summary, try_faults

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """Do what the command line says; the exit status is 1 when that is refused."""
    options = _parser().parse_args()
    try:
        options.action(options)
    except (FaultError, OSError) as error:
        print(f"seed_faults: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="seed_faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="draw|apply|revert|run")
    _add_draw(commands.add_parser("draw", help="print faults as lines of JSON"))
    for name, action in (("apply", apply), ("revert", revert)):
        command = commands.add_parser(name, help=f"{name} one fault")
        command.add_argument("faults", type=Path, help="what draw printed")
        command.add_argument("id")
        command.add_argument("--root", type=Path, required=True, help="the tree")
        command.set_defaults(
            action=lambda options, action=action: action(_fault(options), options.root)
        )
    _add_run(commands.add_parser("run", help="try faults, and say which a command sees"))
    return parser


def _add_draw(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=int, required=True)
    command.add_argument("--count", type=int, required=True)
    command.add_argument("--language", choices=sorted(PARTS), required=True)
    command.add_argument(
        "--paths",
        nargs="+",
        metavar="REGEX",
        help="parts that faults are drawn from evenly: how the paths of their files begin",
    )
    command.add_argument(
        "--exclude",
        action="append",
        metavar="GLOB",
        help=f"leave out files; may be repeated (default: {' '.join(EXCLUDED)})",
    )
    command.add_argument("--root", type=Path, default=ROOT, help="the tree (default: this one)")
    command.set_defaults(action=_draw)


def _add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("faults", type=Path, help="what draw printed")
    command.add_argument("--root", type=Path, required=True, help="a tree without changes")
    command.add_argument("--command", required=True, help="what fails when it sees a fault")
    command.add_argument("--compiles-command", help="what fails when a fault does not compile")
    command.add_argument("--timeout", type=float, default=300, help="seconds (default: 300)")
    command.add_argument("--only", nargs="+", metavar="ID", help="faults to try (default: all)")
    command.add_argument(
        "--out",
        type=Path,
        default=Path("results.jsonl"),
        help="where results are added; what is there is not tried again (default: results.jsonl)",
    )
    command.set_defaults(action=_run)


def _draw(options: argparse.Namespace) -> None:
    parts = options.paths or PARTS[options.language]
    sources = read_sources(options.root, options.language, parts, options.exclude or EXCLUDED)
    sys.stdout.write(write_faults(draw(sources, options.seed, options.count)))


def _fault(options: argparse.Namespace) -> Fault:
    faults = read_faults(options.faults)
    if options.id not in faults:
        raise FaultError(f"{options.faults} has no fault '{options.id}'")
    return faults[options.id]


def _run(options: argparse.Namespace) -> None:
    # The fault that is in the tree is taken out then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("seed_faults: ended"))
    faults = list(read_faults(options.faults).values())
    if options.only:
        faults = [_fault(argparse.Namespace(faults=options.faults, id=id)) for id in options.only]
    commands = Commands(options.command, options.compiles_command, options.timeout)
    try:
        try_faults(faults, options.root, commands, options.out, _tell)
    finally:
        print(summary(faults, read_trials(options.out)))


def _tell(fault: Fault, trial: Trial) -> None:
    place = f"{fault.file}:{fault.line}"
    print(f"{fault.id} {trial.how} in {trial.seconds:.1f} s: {place} {fault.kind}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
