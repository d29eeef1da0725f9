"""The program of docs/safety.md works as it is printed, and what it says of saved files holds."""

from __future__ import annotations

import hashlib
import stat
import sys
from pathlib import Path

import polystate as ps
from tests.end_to_end.printed_programs import run, write_programs
from tests.support.toy_chat import toy_chat


def test_the_python_program_counts_no_control_token_of_a_user(tmp_path: Path) -> None:
    write_programs("docs/safety.md", "safety", tmp_path)
    (tmp_path / "smollm").symlink_to(toy_chat() / "toy")
    assert run(tmp_path, sys.executable, "spelled.py") == "True\nTrue\n"


def test_a_saved_conversation_is_checked_for_damage_and_not_signed(tmp_path: Path) -> None:
    chat = ps.Conversation(toy_chat() / "toy", "Be kind.", max_new_tokens=4)
    chat.ask("A secret")
    saved = tmp_path / "chat"
    chat.save(saved)
    whole = saved.read_bytes()
    assert b"A secret" in whole
    created = tmp_path / "other"
    created.touch()
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE(created.stat().st_mode)

    forged = whole[:-32].replace(b"A secret", b"A forged")
    saved.write_bytes(forged + hashlib.sha256(forged).digest())
    chat.load(saved)
    assert chat.messages[1]["content"] == "A forged"
