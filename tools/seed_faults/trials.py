"""Tries faults one after another, and tells which of them a command sees."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import IO

from tools.seed_faults.faults import Fault, FaultError, apply, git, revert

STATUS = "exit status"
TIMEOUT = "timeout"
SURVIVED = "survived"
NOT_COMPILED = "does not compile"

_TAIL = 15


@dataclass(frozen=True)
class Commands:
    """What tries a fault.

    Attributes
    ----------
    command
        For the shell; it passes where there is no fault.
    compiles
        What must pass before; a fault for which it fails is none that tests could see.
    timeout
        Seconds that each may take.
    """

    command: str
    compiles: str | None = None
    timeout: float = 300


@dataclass(frozen=True)
class Trial:
    """What became of a fault.

    Attributes
    ----------
    how
        How the command ended: `STATUS` or `TIMEOUT` when it was caught, else `SURVIVED` or
        `NOT_COMPILED`.
    seconds
        How long that took.
    tail
        The last lines that the command printed.
    """

    id: str
    caught: bool
    how: str
    seconds: float
    tail: str


def require_clean(root: Path) -> None:
    """Refuse a tree in which a file is not as it was committed."""
    changes = git(root, "status", "--porcelain", "--untracked-files=no").decode()
    if changes:
        raise FaultError(f"{root} has changes that are not committed:\n{changes.rstrip()}")


def read_trials(path: Path) -> dict[str, Trial]:
    """Read the trials of a file by the faults' ids; there are none without a file."""
    if not path.exists():
        return {}
    trials = [Trial(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return {trial.id: trial for trial in trials}


def try_faults(
    faults: Iterable[Fault],
    root: Path,
    commands: Commands,
    out: Path,
    tell: Callable[[Fault, Trial], None],
) -> None:
    """Try faults, but for those that ``out`` has, and add each trial to ``out`` at once."""
    require_clean(root)
    done = read_trials(out)
    for fault in faults:
        if fault.id not in done:
            trial = try_fault(fault, root, commands)
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(trial), ensure_ascii=False) + "\n")
            tell(fault, trial)


def try_fault(fault: Fault, root: Path, commands: Commands) -> Trial:
    """Put a fault in, run the commands and take it out again, whatever happens."""
    started = time.monotonic()
    try:
        apply(fault, root)
        how, tail = _outcome(root, commands)
    finally:
        revert(fault, root)
    caught = how in (STATUS, TIMEOUT)
    return Trial(fault.id, caught, how, round(time.monotonic() - started, 1), tail)


def _outcome(root: Path, commands: Commands) -> tuple[str, str]:
    if commands.compiles is not None:
        status, tail = _run(commands.compiles, root, commands.timeout)
        if status != 0:
            return NOT_COMPILED, tail
    status, tail = _run(commands.command, root, commands.timeout)
    if status is None:
        return TIMEOUT, tail
    return (SURVIVED if status == 0 else STATUS), tail


def _run(command: str, root: Path, timeout: float) -> tuple[int | None, str]:
    """Run a command, and end all that it started; without a status it took too long."""
    # Python would take a file for unchanged whose size is the same, within a second.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end_group(process)
        return status, _tail(output)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(output: IO[bytes]) -> str:
    output.seek(0)
    return "\n".join(output.read().decode(errors="replace").splitlines()[-_TAIL:])


def summary(faults: Sequence[Fault], trials: Mapping[str, Trial]) -> str:
    """Return tables of what was caught, by kind and by folder, and the faults that were not."""
    tried = [fault for fault in faults if fault.id in trials]
    tables = [
        _table("kind", [(fault.kind, trials[fault.id]) for fault in tried]),
        _table("folder", [(str(PurePath(fault.file).parent), trials[fault.id]) for fault in tried]),
    ]
    survivors = [
        f"{fault.file}:{fault.line} [{fault.id}] {fault.description}\n"
        f"{_marked('-', fault.before)}{_marked('+', fault.after)}"
        for fault in tried
        if trials[fault.id].how == SURVIVED
    ]
    return "\n".join([*tables, "survivors:" if survivors else "no survivors", *survivors])


def _marked(mark: str, lines: str) -> str:
    return "".join(f"  {mark} {line}\n" for line in lines.splitlines())


def _table(label: str, rows: Sequence[tuple[str, Trial]]) -> str:
    columns = ("caught", SURVIVED, NOT_COMPILED)
    counts = Counter((name, "caught" if trial.caught else trial.how) for name, trial in rows)
    names = [*sorted({name for name, _ in rows}), "all"]
    counts.update(
        {("all", column): sum(counts[name, column] for name in names) for column in columns}
    )
    width = max(len(name) for name in [*names, label])
    lines = [f"{label:{width}}  " + "  ".join(columns)]
    for name in names:
        cells = "  ".join(f"{counts[name, column]:{len(column)}}" for column in columns)
        lines.append(f"{name:{width}}  {cells}")
    return "\n".join(lines) + "\n"
