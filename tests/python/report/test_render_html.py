"""Pages of reports in a browser: nothing is asked for, everything is shown, at any width."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import polystate as ps
from polystate import _core
from tests.support.browser import Browser, browser

HOSTILE = (
    "</pre></svg><script>document.title = 'run'</script><img src=http://127.0.0.1/x>\"'\x1b\u202e"
)
LONG = "a_name_without_any_place_to_break_it_" * 8

BLOCKS: list[dict[str, Any]] = [
    {"kind": "text", "text": HOSTILE, "tone": "bad"},
    {"kind": "code", "text": f"{HOSTILE}\n{LONG}", "marks": [{"line": 1, "note": HOSTILE}]},
    {"kind": "code", "text": f"-{HOSTILE}\n+{LONG}", "diff": True},
    {"kind": "facts", "facts": [{"name": HOSTILE, "value": {"text": LONG, "code": True}}]},
    {"kind": "table", "columns": [HOSTILE, "b"] * 6, "rows": [[LONG, HOSTILE]]},
    {
        "kind": "graph",
        "groups": [{"name": HOSTILE, "tone": "teal"}],
        "nodes": [{"label": LONG, "note": HOSTILE, "group": 0}, {"label": HOSTILE}],
        "edges": [{"from": 0, "to": 1, "label": HOSTILE}],
    },
    {
        "kind": "memory_plan",
        "steps": 4,
        "bytes": 64,
        "blocks": [{"label": HOSTILE, "first": 0, "last": 3, "offset": 0, "bytes": 64}],
    },
    {"kind": "bars", "bars": [{"label": LONG, "value": 3, "text": HOSTILE}]},
    {
        "kind": "timeline",
        "steps": 4,
        "rows": [{"label": HOSTILE, "spans": [{"first": 0, "last": 3, "label": HOSTILE}]}],
    },
    {"kind": "flame_graph", "flames": [{"label": HOSTILE, "value": 1}]},
    {"kind": "details", "summary": HOSTILE, "blocks": [{"kind": "text", "text": LONG}]},
]


def report_of(blocks: list[dict[str, Any]]) -> str:
    """Return a report that has each block in a section of its own, which it is named after."""
    sections = [{"title": block["kind"], "blocks": [block]} for block in blocks]
    return json.dumps({"title": "A report", "subtitle": HOSTILE, "sections": sections})


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_shows_every_block_and_asks_for_nothing(
    tab: Browser, tmp_path: Path, width: int
) -> None:
    page = tmp_path / "page.html"
    page.write_text(_core.render_html(report_of(BLOCKS)))
    visit = tab.open(page, width)
    assert visit.requests == []
    assert visit.complaints == []
    assert visit.evaluate("document.title") == "A report"
    assert visit.evaluate("document.querySelectorAll('script, img').length") == 0
    titles = "[...document.querySelectorAll('section > h2')].map(e => e.textContent)"
    assert visit.evaluate(titles) == [block["kind"] for block in BLOCKS]
    assert visit.evaluate("document.querySelectorAll('svg').length") == 4
    root = "document.documentElement"
    assert visit.evaluate(f"{root}.scrollWidth") == visit.evaluate(f"{root}.clientWidth")
    # Every section takes room and lies within the page.
    boxes = (
        "[...document.querySelectorAll('section')].map(e => e.getBoundingClientRect())"
        ".map(b => [b.left, b.right, b.height])"
    )
    for left, right, height in visit.evaluate(boxes):
        assert 0 <= left < right <= width
        assert height > 40


def test_what_would_be_asked_for_is_seen(tab: Browser, tmp_path: Path) -> None:
    page = tmp_path / "other.html"
    page.write_text("<img src='missing.png'><script>console.log('here')</script>")
    visit = tab.open(page, 390)
    assert visit.requests == [(tmp_path / "missing.png").as_uri()]
    assert any("here" in complaint for complaint in visit.complaints)


def test_a_page_has_one_file(tmp_path: Path) -> None:
    page = _core.render_html(report_of(BLOCKS[:1]))
    assert page.startswith("<!DOCTYPE html>")
    assert "src=" not in page.replace("src=http://127.0.0.1/x", "")
    assert "url(" not in page


def test_a_report_that_is_none_is_refused() -> None:
    with pytest.raises(ps.ContractError, match=r"sections\[0\]\.blocks\[0\]\.kind"):
        _core.render_html(report_of([{"kind": "picture"}]))
