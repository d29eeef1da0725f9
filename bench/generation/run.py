"""Compares polystate's continuation of prompts with other engines on the same weights.

Each engine runs in a process of its own, in alternation, on as many threads as there are cores.
Those that are far behind run in one round only. The table goes to stdout and, with every figure as
JSON, to a folder.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from run import MEMORY_NOTE, Goal, goal_lines, processor
from workloads import NEW_TOKENS, Workload, workloads

MIB = 1 << 20
MODELS = ("llama_1b", "gemma_270m", "chat")
OURS = "polystate_q8"
PEER = "llama_cpp_q8_0"
ENGINES = (OURS, PEER, "openvino_int8", "transformers")
# Far behind, so that one round tells as much as more.
SLOW = ("transformers",)

Round = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """An engine's rounds of one workload."""

    workload: Workload
    rounds: list[Round]

    def prefill(self, middle: Any = statistics.median) -> float:
        """Tokens a second of prompts; `middle` of the seconds."""
        return self.workload.prompt / float(middle(self._all("prefill")))

    def decode(self, middle: Any = statistics.median) -> float:
        """Tokens a second after the first; `middle` of the seconds."""
        return (NEW_TOKENS - 1) / float(middle(self._all("decode")))

    @property
    def resident(self) -> int:
        return max(one["resident_at_most"] for one in self.rounds)

    @property
    def first_token(self) -> float:
        """Seconds from the start to the first token, opening included."""
        return statistics.median(one["first_token"] for one in self.rounds)

    def _all(self, part: str) -> list[float]:
        return [seconds for one in self.rounds for seconds in one[part]]


def measure(model: Path, workload: Workload, options: argparse.Namespace) -> dict[str, Measured]:
    """Runs the engines in alternation."""
    rounds: dict[str, list[Round]] = {engine: [] for engine in options.engines}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "workload.json"
        path.write_text(json.dumps(workload.content(os.cpu_count() or 1)))
        for number in range(options.rounds):
            progress = f"{model.name}, {workload.name}: round {number + 1} of {options.rounds}"
            print(progress, file=sys.stderr, flush=True)
            for engine in options.engines:
                if engine in SLOW and number > 0:
                    continue
                command = [sys.executable, Path(__file__).with_name("peers.py"), engine, model]
                if engine == OURS:
                    command = [options.program, model / OURS]
                done = subprocess.run(
                    [*command, path], check=True, stdout=subprocess.PIPE, text=True
                )
                rounds[engine].append(json.loads(done.stdout.splitlines()[-1]))
    return {engine: Measured(workload, found) for engine, found in rounds.items()}


Table = dict[tuple[str, str], dict[str, Measured]]


def table(measured: Table) -> list[str]:
    """Rows of Markdown: tokens a second, medians with the best in brackets."""
    lines = [
        "| model | prompt | engine | prefill, tokens/s | decode, tokens/s | first token, s "
        "| memory, MiB |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (model, _), engines in measured.items():
        for engine, one in engines.items():
            lines.append(
                f"| {model} | {one.workload.prompt} | {engine} "
                f"| {one.prefill():.1f} ({one.prefill(min):.1f}) "
                f"| {one.decode():.1f} ({one.decode(min):.1f}) "
                f"| {one.first_token:.2f} | {one.resident / MIB:.0f} |"
            )
    return [*lines, "", MEMORY_NOTE]


def goals(measured: Table) -> list[Goal]:
    found = []
    for (model, workload), engines in measured.items():
        if {OURS, PEER} <= engines.keys():
            ratio = engines[OURS].decode() / engines[PEER].decode()
            what = f"{model}, {workload}: decode beside {PEER}"
            found.append(Goal(what, ratio, 1.0, "x", is_least=True))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="bench_generation")
    parser.add_argument("--models", type=Path, required=True, help="folder of make_models.py")
    parser.add_argument("--out", type=Path, required=True, help="folder for table and JSON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    parser.add_argument("--only", nargs="+", default=list(MODELS), help="names of models")
    options = parser.parse_args()

    measured = {
        (model, workload.name): measure(options.models / model, workload, options)
        for model in options.only
        for workload in workloads(model)
    }
    found = goals(measured)
    print("\n".join([*table(measured), "", *goal_lines(found)]))
    report = {
        "processor": processor(),
        "rounds": {
            f"{model}, {workload}": {engine: one.rounds for engine, one in engines.items()}
            for (model, workload), engines in measured.items()
        },
        "goals": [goal.report() for goal in found],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "generation.json").write_text(json.dumps(report, indent=1) + "\n")
    (options.out / "generation.md").write_text("\n".join(table(measured)) + "\n")


if __name__ == "__main__":
    main()
