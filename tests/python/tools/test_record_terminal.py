"""Recordings of a terminal are pictures that say what it showed."""

from __future__ import annotations

import html
import re
from pathlib import Path
from xml.etree import ElementTree

from tools.record_terminal import Picture, drawn

ROOT = Path(__file__).resolve().parents[3]


def test_pictures_follow_one_another_and_each_row_is_there_once() -> None:
    pictures = [
        Picture(0.5, ("&gt; a", "")),
        Picture(1.0, ("&gt; ab", "")),
        Picture(2.0, ("&gt; ab", '<tspan class="b">yes</tspan>')),
    ]
    svg = drawn(pictures, 20, 2)
    root = ElementTree.fromstring(svg)
    texts = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["> a", "> ab", "yes"]
    assert [use.get("href") for use in root.iter("{http://www.w3.org/2000/svg}use")] == [
        "#r0", "#r1", "#r1", "#r2",
    ]  # fmt: skip
    assert re.findall(r"([\d.]+)%\{", svg) == ["0.00", "16.67", "33.33"]
    assert "animation:play 6.0s step-end infinite" in svg


def test_the_readmes_recording_shows_the_turns_that_are_printed() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "(docs/chat.svg)" in readme
    (asked,) = re.findall(r"^printf '%s\\n' (.*) \| polystate chat", readme, re.MULTILINE)
    (answers,) = re.findall(r"<!-- readme: chat.txt -->\n```text\n(.*?)```", readme, re.DOTALL)
    svg = (ROOT / "docs/chat.svg").read_text()
    rows = [html.unescape(re.sub(r"<.*?>", "", row)) for row in re.findall(r"<text.*?</text>", svg)]
    for turn in [*re.findall(r'"(.*?)"', asked), *answers.splitlines()]:
        assert any(row.removeprefix("> ") == turn for row in rows), turn
