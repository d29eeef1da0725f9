"""Templates of well-known models, which `make test-all` unpacks, over many conversations."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers.utils import chat_template_utils

from tests.python.chat_template.compare import REFUSED, difference, theirs
from tests.python.chat_template.conversations import CONVERSATIONS, SETTINGS, variables

FOLDER = Path(__file__).parents[3] / "build/chat_templates"


@pytest.mark.exhaustive
def test_real_templates_render_as_by_transformers() -> None:
    paths = sorted(FOLDER.glob("*.jinja"))
    assert len(paths) >= 60, "`make test-all` unpacks them"
    found, rendered = [], 0
    for path in paths:
        source = path.read_bytes().decode()
        for name, conversation in CONVERSATIONS.items():
            given = [
                {key: value for key, value in message.items() if value is not None}
                for message in conversation
            ]
            messages = chat_template_utils._alias_reasoning_fields(given)
            for settings in SETTINGS.values():
                values = variables(messages, settings)
                differs = difference(source, values)
                found += [f"{path.name}, {name}: {differs}"] if differs else []
                rendered += theirs(source, values) is not REFUSED
    assert not found, "\n".join(found[:5])
    assert rendered >= 20 * len(paths)
