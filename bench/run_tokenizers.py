"""Compares polystate's tokenizers with the libraries that their files come from.

Each engine runs in a process of its own, in alternation, on one thread and on the same lines: its
best of five passes is a round's figure. Ratios are of the medians of the rounds. The table goes to
stdout, every figure to a JSON file.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from run import Goal, tell_goals
from train_tokenizers import LLAMA3

KINDS = [
    "gpt2.json",
    "llama3.json",
    "llama2.json",
    "bert.json",
    "t5.json",
    "word_level.json",
    "sentencepiece_unigram.model",
    "sentencepiece_bpe.model",
    "tiktoken.tiktoken",
]
WORK = ("encode", "decode")
Round = dict[str, Any]


def answer(command: list[str | Path]) -> Round:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Round = json.loads(done.stdout)
    return found


def arguments_of(path: Path, text: str) -> list[str | Path]:
    return [path, text, *([LLAMA3] if path.suffix == ".tiktoken" else [])]


def rounds(program: Path, path: Path, text: str, count: int) -> dict[str, list[Round]]:
    """Run both engines in alternation."""
    peer = [sys.executable, Path(__file__).with_name("tokenizer_peer.py")]
    commands: dict[str, list[str | Path]] = {"polystate": [program], "peer": list(peer)}
    found: dict[str, list[Round]] = {name: [] for name in commands}
    for _ in range(count):
        for name, command in commands.items():
            found[name].append(answer(command + arguments_of(path, text)))
    return found


def bests(measured: list[Round], work: str) -> list[float]:
    """Give each round's best pass."""
    return [min(one[work]) if isinstance(one[work], list) else one[work] for one in measured]


def speed_line(name: str, work: str, size: int, measured: dict[str, list[Round]]) -> str:
    cells = []
    for engine in ("polystate", "peer"):
        seconds = bests(measured[engine], work)
        cells += [size / 1e6 / min(seconds), size / 1e6 / statistics.median(seconds)]
    speeds = "".join(f"{speed:>10.1f}" for speed in cells)
    return f"{name:<30}{work:<8}{speeds}{ratio(measured, work):>8.2f}x"


def ratio(measured: dict[str, list[Round]], work: str) -> float:
    ours, theirs = (
        statistics.median(bests(measured[name], work)) for name in ("polystate", "peer")
    )
    return theirs / ours


def hostile_goals(program: Path, path: Path) -> list[Goal]:
    """Give the slowest mebibyte of one thing, and how much longer two take at most."""
    passes = answer([program, *arguments_of(path, "")])["hostile"]
    one = {name: min(pair[0] for pair in pairs) for name, pairs in passes.items()}
    doubled = {name: min(pair[1] for pair in pairs) / one[name] for name, pairs in passes.items()}
    slowest, steepest = max(one, key=one.__getitem__), max(doubled, key=doubled.__getitem__)
    return [
        Goal(f"{path.name}: 1 MiB of {slowest}", one[slowest], 1, "s"),
        Goal(f"{path.name}: 2 MiB of {steepest} beside 1", doubled[steepest], 2.3, "x"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="bench_tokenizer")
    parser.add_argument("--models", type=Path, required=True, help="folder of train_tokenizers.py")
    parser.add_argument("--out", type=Path, required=True, help="JSON file for every figure")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    text = options.models / "text.txt"
    measured = {
        name: rounds(options.program, options.models / name, str(text), options.rounds)
        for name in KINDS
    }
    large = rounds(options.program, options.models / "bpe_128k.json", str(text), options.rounds)
    hostile = [
        goal for name in KINDS for goal in hostile_goals(options.program, options.models / name)
    ]

    print(
        f"{'MB of text a second, best and median:':<34}{'polystate':>20}{'peer':>20}{'ratio':>10}"
    )
    for name, kind in measured.items():
        for work in WORK:
            print(speed_line(name, work, text.stat().st_size, kind))
    opening = statistics.median(bests(large["polystate"], "open"))
    goals = [
        *(
            Goal(f"{name}: {work} beside its library", ratio(kind, work), 1.5, "x", is_least=True)
            for name, kind in measured.items()
            for work in WORK
        ),
        Goal("opening a BPE vocabulary of 128,000", opening * 1e3, 150, "ms"),
        *hostile,
    ]
    theirs = statistics.median(bests(large["peer"], "open"))
    print(f"\nOpening a BPE vocabulary of 128,000 takes `tokenizers` {theirs * 1e3:.0f} ms.")
    tell_goals(goals, options.out, seconds=measured | {"bpe_128k.json": large})


if __name__ == "__main__":
    main()
