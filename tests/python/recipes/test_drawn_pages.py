"""What recipes draw for an export's verification is valid, and shows something."""

from __future__ import annotations

import re

import pytest
import torch

from polystate.recipes.drawn_pages import _places, _Table
from tests.python.recipes.causal_models import causal_report
from tests.python.recipes.test_causal_models import IN_EVERY_RUN
from tests.python.recipes.tiny_models import tiny_report

REPORTS = {
    "encoder-decoder": lambda: tiny_report("marian", "xnnpack"),
    "decoder": lambda: causal_report(*IN_EVERY_RUN[0]),
}


@pytest.mark.parametrize("kind", REPORTS)
def test_most_drawn_steps_of_an_export_agree(kind: str) -> None:
    report = REPORTS[kind]()
    counts = re.findall(r"verified: (\d+) of (\d+) drawn calls? agree", report)
    assert len(counts) == (3 if kind == "encoder-decoder" else 2), report
    for agreed, drawn in counts:
        assert int(agreed) > int(drawn) / 2, report
    assert "warning" not in report


def test_no_place_is_drawn_twice() -> None:
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        table = _Table(torch.zeros(3, 4, dtype=torch.int64), pages=12, of_row=4).drawn(generator)
        assert table.unique().numel() == 12
        rows, positions = _places(generator, 20, 3, 16, 16)
        assert len({*zip(rows.tolist(), positions.tolist(), strict=True)}) == 20
        assert int(rows.max()) < 3 and 0 <= int(positions.min()) <= int(positions.max()) < 16
