"""Templates that are drawn: the same text as jinja2's, or both refuse."""

from __future__ import annotations

import pytest

from tests.python.chat_template.compare import REFUSED, difference, theirs
from tests.python.chat_template.programs import Drawn


@pytest.mark.parametrize(
    "seeds", [range(1000), pytest.param(range(1000, 20000), marks=pytest.mark.exhaustive)]
)
def test_drawn_templates_render_as_by_jinja2(seeds: range) -> None:
    found, refused = [], 0
    for seed in seeds:
        drawn = Drawn(seed)
        source, values = drawn.template(), drawn.values()
        found.append(difference(source, values))
        refused += theirs(source, values) is REFUSED
    assert not list(filter(None, found)), "\n".join(filter(None, found[:5]))
    assert refused <= len(seeds) / 10
