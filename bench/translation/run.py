"""Compares polystate's translation with other engines on the same weights.

Each engine runs in a process of its own, in alternation, on one thread and on as many as there are
cores; the better of both counts. Those that are far behind run in one round only, on all cores.
Workloads ``opus_*``: texts of 20 tokens to 24 tokens, in milliseconds per decoding step with the
encoder included; ``demo_*``: the sentences of a file, in seconds. The table goes to stdout and,
with every figure as JSON and a picture, to a folder.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from run import MEMORY_NOTE, Goal, goal_lines, processor
from shapes import random_sources

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = ROOT / "tests/data/tatoeba-en-fr/valid.tsv"
SOURCE_TOKENS, TARGET_TOKENS = 20, 24
MIB = 1 << 20
OURS = "polystate_q8"
OURS_AVX2 = "polystate_q8_avx2"  # the same artifact, limited to the instructions of AVX2
PEER = "ctranslate2_int8"
ENGINES = (
    OURS,
    OURS_AVX2,
    PEER,
    "polystate_aoti_q8",
    "polystate_float32",
    "polystate_aoti_float32",
    "ctranslate2_float32",
    "transformers",
    "torch_compile",
    "executorch_int8",
)
# Far behind, so that one round on all cores tells as much as more.
SLOW = ("transformers", "torch_compile", "executorch_int8")
# The least that we promise to be faster than the peer.
GOALS = {
    "opus_batch_1_greedy": 4.0,
    "opus_batch_1_beam_4": 3.3,
    "opus_batch_32_greedy": 2.5,
    "opus_batch_32_beam_4": 1.9,
    "demo_beam_4": 2.0,
}
# The most that AVX2 may take beside the machine's best instructions.
AVX2_LIMIT = 2.2

Round = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """What every engine does: the file that it reads has these and the number of threads."""

    name: str
    model: str
    content: dict[str, Any]

    def is_for(self, engine: str) -> bool:
        """Whether an engine can do it: plain ExecuTorch has a batch, and no texts and no beams."""
        is_plain = "target" in self.content and self.content["beams"] == 1
        return engine != "executorch_int8" or is_plain

    @property
    def unit(self) -> str:
        return "ms a step" if "target" in self.content else "s"

    def figure(self, seconds: float) -> float:
        target: int | None = self.content.get("target")
        return seconds if target is None else seconds / target * 1e3


@dataclass(frozen=True)
class Measured:
    """An engine's rounds of one workload, by number of threads."""

    workload: Workload
    rounds: dict[int, list[Round]]

    def best_threads(self) -> int:
        return min(self.rounds, key=lambda threads: statistics.median(self._seconds(threads)))

    @property
    def minimum(self) -> float:
        return self.workload.figure(min(self._seconds(self.best_threads())))

    @property
    def median(self) -> float:
        return self.workload.figure(statistics.median(self._seconds(self.best_threads())))

    @property
    def resident(self) -> int:
        return max(one["resident_at_most"] for one in self.rounds[self.best_threads()])

    @property
    def open(self) -> float:
        return statistics.median(one["open"] for one in self.rounds[self.best_threads()])

    @property
    def first_token(self) -> float:
        """Seconds from the start to the first token, opening included; only for polystate."""
        return statistics.median(one["first_token"] for one in self.rounds[self.best_threads()])

    def _seconds(self, threads: int) -> list[float]:
        return [seconds for one in self.rounds[threads] for seconds in one["seconds"]]


def workloads() -> Iterator[Workload]:
    for batch in (1, 32):
        sources = random_sources(batch, SOURCE_TOKENS)
        for beams, search in ((1, "greedy"), (4, "beam_4")):
            yield Workload(
                f"opus_batch_{batch}_{search}",
                "opus",
                {
                    "beams": beams,
                    "sources": sources,
                    "target": TARGET_TOKENS,
                    "passes": 10 if batch == 1 else 3,
                },
            )
    lines = [line.split("\t")[0] for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    for beams, search in ((1, "greedy"), (4, "beam_4")):
        yield Workload(f"demo_{search}", "demo", {"beams": beams, "lines": lines, "passes": 1})
    distinct = list(dict.fromkeys(lines))
    yield Workload("demo_distinct_beam_4", "demo", {"beams": 4, "lines": distinct, "passes": 1})


def command_of(engine: str, model: Path, program: Path) -> list[str | Path]:
    if engine == OURS_AVX2:
        return ["env", "POLYSTATE_INSTRUCTION_SET=avx2", program, model / OURS]
    if engine.startswith("polystate"):
        return [program, model / engine]
    return [sys.executable, Path(__file__).with_name("peers.py"), engine, model]


def measure(workload: Workload, options: argparse.Namespace) -> dict[str, Measured]:
    """Runs the engines in alternation."""
    engines = [engine for engine in options.engines if workload.is_for(engine)]
    found: dict[str, dict[int, list[Round]]] = {engine: {} for engine in engines}
    with tempfile.TemporaryDirectory() as directory:
        for number in range(options.rounds):
            progress = f"{workload.name}: round {number + 1} of {options.rounds}"
            print(progress, file=sys.stderr, flush=True)
            cores = os.cpu_count() or 1
            for threads in sorted({1, cores}):
                path = Path(directory) / "workload.json"
                path.write_text(json.dumps(workload.content | {"threads": threads}))
                for engine in engines:
                    if engine in SLOW and (number > 0 or threads < cores):
                        continue
                    command = command_of(engine, options.models / workload.model, options.program)
                    done = subprocess.run(
                        [*command, path], check=True, stdout=subprocess.PIPE, text=True
                    )
                    answer = json.loads(done.stdout.splitlines()[-1])
                    found[engine].setdefault(threads, []).append(answer)
    return {engine: Measured(workload, rounds) for engine, rounds in found.items()}


def table(measured: dict[str, dict[str, Measured]]) -> list[str]:
    """Rows of Markdown."""
    lines = [
        "| workload | engine | minimum | median | unit | threads | open, s | memory, MiB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, engines in measured.items():
        for engine, one in engines.items():
            lines.append(
                f"| {name} | {engine} | {one.minimum:.2f} | {one.median:.2f} | {one.workload.unit} "
                f"| {one.best_threads()} | {one.open:.2f} | {one.resident / MIB:.0f} |"
            )
    return [*lines, "", MEMORY_NOTE]


def draw(measured: dict[str, dict[str, Measured]], path: Path) -> None:
    """Bars of every engine's median, one picture for each workload."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("svg")
    figure, axes = plt.subplots(
        len(measured), figsize=(8, 1.9 * len(measured)), layout="constrained", squeeze=False
    )
    for axis, (name, engines) in zip(axes[:, 0], measured.items(), strict=True):
        colours = ["#1f6f8b" if e.startswith("polystate") else "#b0b0b0" for e in engines]
        bars = axis.barh(list(engines), [one.median for one in engines.values()], color=colours)
        axis.bar_label(bars, fmt="%.3g", padding=3)
        axis.invert_yaxis()
        axis.set_title(f"{name}, {next(iter(engines.values())).workload.unit}", loc="left")
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def size_of(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def peers_size(model: Path, *, has_text: bool) -> int:
    """Of what the peer reads: for text, the tokenizer's files too, which lie in our artifacts."""
    tokenizer = [model / "transformers" / f"{side}.spm" for side in ("source", "target")]
    return size_of(model / PEER) + sum(file.stat().st_size for file in tokenizer if has_text)


def goals(measured: dict[str, dict[str, Measured]], models: Path) -> list[Goal]:
    found = []
    for name, engines in measured.items():
        if name in GOALS and {OURS, PEER} <= engines.keys():
            ratio = engines[PEER].median / engines[OURS].median
            found.append(Goal(f"{name} beside {PEER}", ratio, GOALS[name], "x", is_least=True))
            memory = engines[OURS].resident / engines[PEER].resident
            found.append(Goal(f"{name}: memory beside {PEER}", memory, 1, "x"))
            found.append(Goal(f"{name}: first token", engines[OURS].first_token, 0.5, "s"))
        if {OURS, OURS_AVX2} <= engines.keys():
            ratio = engines[OURS_AVX2].median / engines[OURS].median
            found.append(Goal(f"{name}: AVX2 alone", ratio, AVX2_LIMIT, "x"))
    of_engines = [one.workload for engines in measured.values() for one in engines.values()]
    for model, has_text in dict.fromkeys((one.model, "lines" in one.content) for one in of_engines):
        folder = models / model
        size = size_of(folder / OURS) / peers_size(folder, has_text=has_text)
        found.append(Goal(f"{model}: files beside {PEER}", size, 1, "x"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="bench_translation")
    parser.add_argument("--models", type=Path, required=True, help="folder of make_models.py")
    parser.add_argument("--out", type=Path, required=True, help="folder for table, JSON, picture")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    parser.add_argument("--workloads", nargs="+", help="names; all without it")
    options = parser.parse_args()

    measured = {
        workload.name: measure(workload, options)
        for workload in workloads()
        if options.workloads is None or workload.name in options.workloads
    }
    found = goals(measured, options.models)
    print("\n".join([*table(measured), "", *goal_lines(found)]))
    report = {
        "processor": processor(),
        "rounds": {
            name: {engine: one.rounds for engine, one in engines.items()}
            for name, engines in measured.items()
        },
        "goals": [goal.report() for goal in found],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "translation.json").write_text(json.dumps(report, indent=1) + "\n")
    (options.out / "translation.md").write_text("\n".join(table(measured)) + "\n")
    draw(measured, options.out / "translation.svg")


if __name__ == "__main__":
    main()
