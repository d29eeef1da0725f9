"""Templates in the manner of the big families, over conversations of all kinds.

The templates are in the folder beside this; those of well-known models are compared by
test_real_templates.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.python.chat_template.compare import REFUSED, difference, theirs
from tests.python.chat_template.conversations import CONVERSATIONS, SETTINGS, variables

TEMPLATES = sorted(Path(__file__).with_name("templates").glob("*.jinja"))


def test_there_are_forty_templates() -> None:
    assert len(TEMPLATES) == 40


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_renders_as_by_transformers(path: Path) -> None:
    source = path.read_bytes().decode()
    found, rendered = [], 0
    for messages in CONVERSATIONS.values():
        for settings in SETTINGS.values():
            given = variables(messages, settings)
            found.append(difference(source, given))
            rendered += theirs(source, given) is not REFUSED
    assert not list(filter(None, found)), "\n".join(filter(None, found[:3]))
    assert rendered >= 10
