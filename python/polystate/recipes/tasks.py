"""What an artifact is for, which its answers are named by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polystate.errors import ContractError
from polystate.recipes.settings import TASKS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def task_named(task: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> str:
    """The task of a name; ContractError for an unknown one."""
    if task not in TASKS:
        raise ContractError(f"task is {task!r}; it may be {', '.join(map(repr, TASKS))}")
    return _task_of(model, tokenizer) if task == "auto" else task


def _task_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> str:
    """What the model is for, as far as its own files say so."""
    if not model.config.is_encoder_decoder:
        return "text-generation"
    if any(hasattr(tokenizer, name) for name in ("source_lang", "src_lang")):
        return "translation"
    tasks = getattr(model.config, "task_specific_params", None) or {}
    if len(tasks) == 1 and "summarization" in tasks:
        return "summarization"
    return "text2text-generation"
