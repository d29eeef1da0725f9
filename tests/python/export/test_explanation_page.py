"""The page of an explanation, in a browser: all of it is there, and nothing is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

import polystate as ps
from tests.support.browser import Browser, browser

X = torch.ones(3, 4)
ROWS = torch.export.Dim("rows", min=2, max=8)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(3, 4))

    def step(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x).relu()
        self.seen.add_(y)  # </pre><script>document.title = "run"</script>
        return torch.cumsum(self.seen, 0)

    def branch(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x  # <img src="http://127.0.0.1/x">

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        return x * x.shape[0]


@pytest.fixture(scope="module")
def explanation() -> ps.Explanation:
    methods = {
        "step": ps.Method("step", (X,)),
        "branch": ps.Method("branch", (X,)),
        "rows": ps.Method("rows", (X,), dynamic_shapes=({0: ROWS},)),
    }
    return ps.explain(Model().eval(), methods, backends=("xnnpack",), draws=ps.Draws(count=2))


@pytest.fixture(scope="module")
def page(explanation: ps.Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return explanation.html(tmp_path_factory.mktemp("page") / "explanation.html")


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


INSIDE = ["Contract", "Graph", "Your lines", "State", "Memory", "Sizes"]


@pytest.mark.parametrize("width", [1280, 390])
def test_every_section_is_there_and_nothing_is_asked_for(
    tab: Browser, page: Path, width: int
) -> None:
    visit = tab.open(page, width)
    assert visit.requests == []
    assert visit.complaints == []
    assert visit.evaluate("document.title") == "How far an export comes"
    assert visit.evaluate("document.querySelectorAll('script, img').length") == 0
    titles = visit.evaluate("[...document.querySelectorAll('h2')].map(e => e.textContent)")
    assert titles == ["Summary", "step", "branch", "rows", "Times"]
    below = visit.evaluate("[...document.querySelectorAll('h3, h4')].map(e => e.textContent)")
    assert below.count("Inside, on xnnpack") == 2
    assert all(below.count(title) == 2 for title in INSIDE)
    assert below.count("What stops xnnpack") == below.count("A rewrite that was tried") == 1
    shown = visit.evaluate("document.body.innerText")
    assert '<script>document.title = "run"</script>' in shown
    assert "torch.where(x.sum() > 0, x * 2, x)" in shown
    root = "document.documentElement"
    assert visit.evaluate(f"{root}.scrollWidth") == visit.evaluate(f"{root}.clientWidth")


def test_the_parts_of_a_graph_have_the_users_lines(explanation: ps.Explanation) -> None:
    parts = explanation.insides["step"]["xnnpack"].parts
    by_line = {line.rpartition(": ")[2]: part.kind for part in parts for line in part.lines}
    assert by_line["y = self.linear(x).relu()"] == "delegated"
    assert by_line["return torch.cumsum(self.seen, 0)"] == "kernel"
    (delegate,) = (part for part in parts if part.kind == "delegated")
    assert delegate.inner[:2] == ("aten::linear", "aten::relu")
    assert [part.changes for part in parts if part.changes] == ["seen"]
    places = [place for part in parts for place in part.places if place.arena == "activations"]
    bound = explanation.insides["step"]["xnnpack"].method.activation_bytes
    assert places and all(place.offset + place.bytes <= bound for place in places)


def test_a_page_that_cannot_be_written_is_told(explanation: ps.Explanation, tmp_path: Path) -> None:
    with pytest.raises(ps.IoError, match="cannot be written"):
        explanation.html(tmp_path / "absent" / "page.html")
