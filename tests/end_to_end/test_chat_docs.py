"""The programs of docs/chat.md work as they are printed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import polystate as ps
from tests.end_to_end.printed_programs import build_project, run, write_programs
from tests.support.altered_artifacts import seal
from tests.support.toy_chat import toy_chat

CHAT = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


# Of a model that knows tools; the toy has room for their names alone.
TOOLS = (
    "{% for t in tools or [] %}<|system|>{{ t.function.name }}<|end|>{% endfor %}"
    "{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}"
    '{% for c in m.tool_calls or [] %}<tool_call>\n{"name": "{{ c.function.name }}", '
    '"arguments": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|end|>'
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def test_the_python_program_prints_the_text_and_how_many_ids_it_has(tmp_path: Path) -> None:
    write_programs("docs/chat.md", "chat", tmp_path)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>", "<|assistant|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(["Where is Brest?"], trainer)
    theirs = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    theirs.chat_template = CHAT
    theirs.save_pretrained(tmp_path / "model")
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is Brest?"},
    ]
    ids = theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    text = theirs.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert run(tmp_path, sys.executable, "example.py") == f"{text}\n{len(ids)}\n"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give every program in a file, with an artifact beside them."""
    directory = tmp_path_factory.mktemp("chat")
    write_programs("docs/chat.md", "chat", directory)
    (directory / "smollm").symlink_to(toy_chat() / "toy")
    shutil.copytree(toy_chat() / "toy", directory / "qwen", symlinks=False)
    (directory / "qwen/chat_template.jinja").write_text(TOOLS)
    seal(directory / "qwen")
    return directory


def answers(system: str = "Be brief.") -> list[str]:
    chat = ps.Conversation(toy_chat() / "toy", system, max_new_tokens=20)
    return [chat.ask(text) for text in ("Where is Brest?", "And Lyon?")]


def test_the_shell_commands_talk(directory: Path) -> None:
    *lines, first, second, stats = run(directory, "bash", "-e", "talk").splitlines(keepends=True)
    assert "".join(lines) == "".join(text.replace("\n", " ") + "\n" for text in answers())
    assert [json.loads(line)["text"] for line in (first, second)] == answers("")
    assert json.loads(stats)["stats"]["messages"] == 4


def test_the_python_program_talks(directory: Path) -> None:
    shown = run(directory, sys.executable, "talk.py")
    assert shown.startswith("".join(text + "\n" for text in answers()))
    assert shown.endswith(" tokens were not read again\nassistant\nTrue\n")


def test_the_cpp_program_builds_as_a_project_of_its_own_and_talks(directory: Path) -> None:
    build_project(directory)
    assert run(directory, "build/talk") == "".join(text + "\n" for text in answers())


def is_call(call: dict[str, Any]) -> bool:
    function = call["function"]
    return (function["name"], *function["arguments"]) == ("get_weather", "place")


def test_the_python_program_calls_a_tool(directory: Path) -> None:
    called, *others = run(directory, sys.executable, "tools.py").splitlines()
    assert called in (f"get_weather {{'place': '{place}'}}" for place in ("Brest", "Lyon"))
    assert all(line.startswith("content: ") for line in others[-1:])


def test_the_shell_commands_call_a_tool(directory: Path) -> None:
    first, second = run(directory, "bash", "-e", "tools").splitlines()
    for line in (first, second):
        (call,) = json.loads(line)["tool_calls"]
        assert is_call(call)


def test_the_cpp_program_calls_a_tool(directory: Path) -> None:
    build_project(directory)
    called, *_ = run(directory, "build/tools").splitlines()
    (call,) = json.loads(called)
    assert is_call(call)
