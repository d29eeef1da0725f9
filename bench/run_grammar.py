"""Measures constrained output over a vocabulary of Llama 3's size.

`bench_grammar` runs several times, on one thread. The table goes to stdout, every figure to a JSON
file.
"""

import argparse
import json
import statistics
import subprocess
from pathlib import Path
from typing import Any

from run import Goal, tell_goals

Round = dict[str, Any]


def rounds(program: Path, tokenizer: Path, count: int) -> list[Round]:
    found = []
    for _ in range(count):
        done = subprocess.run([program, tokenizer], check=True, stdout=subprocess.PIPE, text=True)
        found.append(json.loads(done.stdout))
    return found


def of_tokens(measured: list[Round], name: str, part: str) -> list[float]:
    """Give the seconds of every mask or advance, over all tokens and rounds."""
    return [seconds for one in measured for seconds in one["formats"][name][part]]


def median(measured: list[Round], name: str, part: str) -> float:
    return statistics.median(one["formats"][name][part] for one in measured)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="bench_grammar")
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer's file")
    parser.add_argument("--out", type=Path, required=True, help="JSON file for every figure")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    measured = rounds(options.program, options.tokenizer, options.rounds)
    vocabulary = measured[0]["vocabulary"]
    prepare = statistics.median(one["prepare"] for one in measured)
    print(f"Constrained output over {vocabulary:,} tokens, prepared in {prepare * 1e3:.0f} ms\n")
    print(
        f"{'':<14}{'compile':>12}{'again':>12}{'mask, mean':>14}{'median':>10}{'most':>10}"
        f"{'advance, mean':>17}{'most':>10}"
    )
    for name in measured[0]["formats"]:
        us = [seconds * 1e6 for seconds in of_tokens(measured, name, "masks")]
        advances = [seconds * 1e6 for seconds in of_tokens(measured, name, "advances")]
        print(
            f"{name:<14}{median(measured, name, 'compile') * 1e3:>9.2f} ms"
            f"{median(measured, name, 'again') * 1e6:>9.1f} us{statistics.mean(us):>11.1f} us"
            f"{statistics.median(us):>10.1f}{max(us):>10.1f}"
            f"{statistics.mean(advances):>14.1f} us{max(advances):>10.1f}"
        )
    goals = [
        Goal(
            f"a mask of {name}, on average",
            statistics.mean(of_tokens(measured, name, "masks")) * 1e6,
            50,
            "us",
        )
        for name in measured[0]["formats"]
    ]
    tell_goals(goals, options.out, rounds=measured)


if __name__ == "__main__":
    main()
