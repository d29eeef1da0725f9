"""What an artifact is for, which its answers are named by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polystate.errors import ContractError
from polystate.recipes.settings import TASKS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


# What models without an encoder are for; the other tasks are of those with one.
_WITHOUT_ENCODER = "text-generation"


def check_task(task: str) -> None:
    """ContractError for a name that is no task's."""
    if task not in TASKS:
        raise ContractError(f"task is {task!r}; it may be {', '.join(map(repr, TASKS))}")


def task_named(task: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> str:
    """The task of a name; ContractError for an unknown one, and for one of other models."""
    check_task(task)
    if task == "auto":
        return _task_of(model, tokenizer)
    has_encoder = model.config.is_encoder_decoder
    if has_encoder == (task == _WITHOUT_ENCODER):
        raise ContractError(
            f"task is {task!r}, and {type(model).__name__} has {'an' if has_encoder else 'no'} "
            f"encoder: leave it out"
        )
    return task


def _task_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> str:
    """What the model is for, as far as its own files say so."""
    if not model.config.is_encoder_decoder:
        return _WITHOUT_ENCODER
    if any(hasattr(tokenizer, name) for name in ("source_lang", "src_lang")):
        return "translation"
    tasks = getattr(model.config, "task_specific_params", None) or {}
    if len(tasks) == 1 and "summarization" in tasks:
        return "summarization"
    return "text2text-generation"
