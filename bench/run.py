"""Runs the benchmark programs and compares them with their goals.

Each program repeats its benchmarks in random order, so that a noisy moment of the machine does not
fall on one of them. The table goes to stdout, every figure to a JSON file.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
MIB = 1 << 20
MEMORY_NOTE = (
    "Memory is the largest resident size of an engine's process; a peer's includes Python and its "
    "libraries."
)


@dataclass(frozen=True)
class Times:
    """The repetitions of one benchmark, in seconds, and the last one's counters."""

    times: list[float]
    counters: dict[str, float]

    @property
    def minimum(self) -> float:
        return min(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)


@dataclass(frozen=True)
class Goal:
    """A figure, and the most that it may be, or the least."""

    what: str
    figure: float
    limit: float
    unit: str
    is_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.figure >= self.limit if self.is_least else self.figure <= self.limit

    def report(self) -> dict[str, object]:
        return asdict(self) | {"met": self.is_met}


def run(program: Path, models: Path, repetitions: int) -> dict[str, Times]:
    command = [
        program,
        "--benchmark_format=json",
        f"--benchmark_repetitions={repetitions}",
        "--benchmark_enable_random_interleaving=true",
        models,
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    times: dict[str, list[float]] = {}
    counters: dict[str, dict[str, float]] = {}
    for entry in json.loads(done.stdout)["benchmarks"]:
        if entry.get("error_occurred"):
            sys.exit(f"bench: {entry['name']}: {entry['error_message']}")
        if entry["run_type"] != "iteration":
            continue
        name = entry["run_name"].removesuffix("/manual_time")
        times.setdefault(name, []).append(entry["real_time"] * SECONDS[entry["time_unit"]])
        counters[name] = {
            key: entry[key] for key in ("bytes", "bytes_beyond_state") if key in entry
        }
    return {name: Times(values, counters[name]) for name, values in times.items()}


def goals(measured: dict[str, Times]) -> list[Goal]:
    """Compare the medians with what polystate promises."""
    call = measured["session_run"].median - measured["module_execute"].median
    opening = measured["open_verified"].median / measured["hash"].median
    found = [
        Goal("session.run beyond Module::execute", call * 1e6, 3, "us"),
        Goal("session.run, AOTInductor", measured["session_run_aoti"].median * 1e6, 20, "us"),
        Goal("Model::open beside hashing", opening, 1.3, "x"),
        Goal("Model::open, trusted", measured["open_trusted"].median * 1e3, 50, "ms"),
    ]
    for backend in ("portable", "xnnpack"):
        session = measured[f"second_session_{backend}"]
        memory = session.counters["bytes_beyond_state"] / MIB
        found.append(Goal(f"second session, {backend}", session.median * 1e3, 5, "ms"))
        found.append(Goal(f"second session beyond its state, {backend}", memory, 1, "MiB"))
    return found


def duration(seconds: float) -> str:
    unit = "us" if seconds < 1e-3 else "ms"
    return f"{seconds / SECONDS[unit]:.2f} {unit}"


def table(measured: dict[str, Times], found: list[Goal]) -> str:
    lines = [f"{'benchmark':<26}{'minimum':>12}{'median':>12}"]
    lines += [
        f"{name:<26}{duration(times.minimum):>12}{duration(times.median):>12}"
        for name, times in measured.items()
    ]
    return "\n".join([*lines, "", *goal_lines(found)])


def goal_lines(found: list[Goal]) -> list[str]:
    lines = [f"{'goal':<60}{'figure':>10}{'limit':>10}"]
    lines += [
        f"{goal.what:<60}{goal.figure:>10.3f}{goal.limit:>10.3g} {goal.unit:<4}"
        + ("met" if goal.is_met else "MISSED")
        for goal in found
    ]
    return lines


def tell_goals(found: list[Goal], out: Path, **figures: object) -> None:
    """Prints the goals, and writes them with the figures to a JSON file."""
    print("\n" + "\n".join(goal_lines(found)))
    report = {
        "processor": processor(),
        **figures,
        "goals": [goal.report() for goal in found],
    }
    out.write_text(json.dumps(report, indent=1) + "\n")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--programs", type=Path, required=True, help="folder of bench_call and so on"
    )
    parser.add_argument("--models", type=Path, required=True, help="folder of export_models.py")
    parser.add_argument("--out", type=Path, required=True, help="JSON file for every figure")
    parser.add_argument("--repetitions", type=int, default=15)
    options = parser.parse_args()

    measured: dict[str, Times] = {}
    for program in ("bench_call", "bench_open", "bench_session"):
        measured |= run(options.programs / program, options.models, options.repetitions)
    found = goals(measured)
    print(table(measured, found))
    report = {
        "processor": processor(),
        "threads": os.cpu_count(),
        "seconds": {name: asdict(times) for name, times in measured.items()},
        "goals": [goal.report() for goal in found],
    }
    options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
