r"""Records a program in a terminal as a picture that moves: an SVG with its own animation.

    printf '%s\n' "What is typed" "and then" | \
      python -m tools.record_terminal --out docs/chat.svg -- polystate chat demo/en-fr-chat

Each line is typed when the program has been silent for a while. Needs pyte.
"""

from __future__ import annotations

import argparse
import fcntl
import html
import importlib
import os
import pty
import select
import struct
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SILENT = 0.6  # seconds after which a program waits for a line
_A_KEY = 0.045  # seconds
_LAST = 4.0  # how long the last picture stays

_CELL = (8.4, 19)  # pixels
_MARGIN = 14
_STYLE = """
svg { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
rect { fill: #14161a; } text { fill: #e6e6e6; white-space: pre; }
.b { font-weight: bold; } .d { fill: #8b929c; } .c { fill: #7fd4a0; }
"""


@dataclass(frozen=True)
class Picture:
    """What the terminal showed from a moment on."""

    seconds: float
    rows: tuple[str, ...]  # as SVG


def record(command: Sequence[str], lines: Sequence[str], columns: int, rows: int) -> list[Picture]:
    """Runs a program in a terminal, types the lines, and leaves when all are answered."""
    pyte = importlib.import_module("pyte")
    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], list(command))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    start = time.monotonic()
    pictures: list[Picture] = []
    keys, key = iter(_keys(lines)), ""
    while True:
        is_typing = key not in ("", "\n")
        if select.select([terminal], [], [], _A_KEY if is_typing else _SILENT)[0]:
            stream.feed(os.read(terminal, 65536))
            shown = tuple(_row(screen, number) for number in range(rows))
            if not pictures or pictures[-1].rows != shown:
                pictures.append(Picture(time.monotonic() - start, shown))
            if not is_typing:
                continue
            time.sleep(_A_KEY)
        key = next(keys, "")
        if not key:
            break
        os.write(terminal, key.encode())
    os.close(terminal)  # which hangs up
    os.waitpid(process, 0)
    return pictures


def _keys(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield from line
        yield "\n"


def _row(screen: Any, number: int) -> str:
    """A row of the screen: its runs of one style."""
    cells = screen.buffer[number]
    runs: list[tuple[str, str]] = []
    for column in range(screen.columns):
        cell = cells[column]
        is_cursor = (column, number) == (screen.cursor.x, screen.cursor.y)
        style = "b" if cell.bold else "c" if cell.fg not in ("default", "white") else ""
        text = "\u2588" if is_cursor and cell.data == " " else cell.data
        if runs and runs[-1][0] == style:
            runs[-1] = (style, runs[-1][1] + text)
        else:
            runs.append((style, text))
    if runs and not runs[-1][0]:
        runs[-1] = ("", runs[-1][1].rstrip())
    return "".join(
        f'<tspan class="{style}">{html.escape(text)}</tspan>' if style else html.escape(text)
        for style, text in runs
    )


def drawn(pictures: Sequence[Picture], columns: int, rows: int) -> str:
    """The pictures one after another, again and again; each distinct row stands there once."""
    width, height = columns * _CELL[0] + 2 * _MARGIN, rows * _CELL[1] + 2 * _MARGIN
    names: dict[str, int] = {}
    films, keyframes = [], []
    end = pictures[-1].seconds + _LAST
    for number, picture in enumerate(pictures):
        uses = [
            f'<use href="#r{names.setdefault(row, len(names))}" '
            f'y="{number * height + _MARGIN + (place + 0.75) * _CELL[1]:g}"/>'
            for place, row in enumerate(picture.rows)
            if row
        ]
        films.append("".join(uses) + "\n")
        begin = 100 * picture.seconds / end if number else 0
        keyframes.append(f"{begin:.2f}%{{transform:translateY({-number * height:g}px)}}\n")
    symbols = "".join(
        f'<text id="r{number}" x="{_MARGIN}" xml:space="preserve">{row}</text>\n'
        for row, number in names.items()
    )
    animation = f".film{{animation:play {end:.1f}s step-end infinite}}@keyframes play{{"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}"><style>{_STYLE}{animation}{"".join(keyframes)}}}'
        f'</style><rect width="100%" height="100%" rx="8"/><defs>{symbols}</defs>'
        f'<g class="film">{"".join(films)}</g></svg>\n'
    )


def main() -> None:
    """Reads the lines from stdin."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--rows", type=int, default=14)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    lines = sys.stdin.read().splitlines()
    pictures = record(options.command, lines, options.columns, options.rows)
    options.out.write_text(drawn(pictures, options.columns, options.rows))


if __name__ == "__main__":
    main()
