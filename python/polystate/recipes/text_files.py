"""The files of an artifact that turn text into ids, and say how to generate."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from transformers import GenerationConfig

from polystate import _core
from polystate.errors import Error, UnsupportedError
from polystate.recipes.chat_templates import compare_templates

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

GENERATION_CONFIG = "generation_config.json"

# What tokenizers of the runtime are read from: one of these sets of files, in this order.
_TOKENIZER_FILES = (
    ("tokenizer.json",),
    ("source.spm", "target.spm", "vocab.json"),
    ("sentencepiece.bpe.model", "vocab.json"),
    ("spiece.model",),
    ("tokenizer.model",),
    ("sentencepiece.bpe.model",),
)
_TOKENIZER_CONFIG = "tokenizer_config.json"
_CHAT_TEMPLATE = "chat_template.jinja"

# Files that a tokenizer of transformers saves, one at least, and a model does not.
_SIGNS = (_TOKENIZER_CONFIG, "tokenizer.json", "vocab.*", "*.model", "*.spm")

# How a pipeline decodes what was generated.
_AS_GENERATED = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}

# Texts by which a tokenizer of the runtime is compared with its original.
_SAMPLES = (
    "Hello, world!",
    "Where are you going? I don't know...",
    "  Two  spaces, a tab\tand 3,141.59 euros (€) ",
    "Übung macht den Meister; ça va très bien.",
    "日本語のテキスト и русский текст",
    "An unlikely sign: \U0001f680",
)


def generation_files(config: GenerationConfig) -> dict[str, bytes]:
    """``generation_config.json`` as transformers writes it.

    A configuration that transformers would not save, because some of it has no effect
    (``temperature`` without ``do_sample``), is written as well.

    Raises
    ------
    UnsupportedError
        When the runtime cannot generate as it says.
    """
    text = config.to_json_string(use_diff=True, keys_to_pop=["compile_config"])
    try:
        _core.parse_generation_config(text)
    except Error as error:
        raise UnsupportedError(
            f"the runtime cannot generate as the model's generation_config says: {error}; change "
            f"that before the export"
        ) from error
    return {GENERATION_CONFIG: text.encode()}


def has_tokenizer(directory: Path) -> bool:
    """Whether a model's directory has the files of a tokenizer, too."""
    return are_of_tokenizer(path.name for path in directory.iterdir())


def are_of_tokenizer(names: Iterable[str]) -> bool:
    """Whether files of these names are a tokenizer's, some of them."""
    return any(fnmatch(name, sign) for name in names for sign in _SIGNS)


def tokenizer_files(tokenizer: PreTrainedTokenizerBase) -> dict[str, bytes]:
    """The files of a tokenizer of transformers, from which the runtime makes an equal one.

    Raises
    ------
    UnsupportedError
        When the runtime cannot read them, or encodes or decodes a sample text in another way, or
        renders a conversation in another way by a chat template.
    """
    with tempfile.TemporaryDirectory(prefix="polystate-") as directory:
        folder = Path(directory)
        # One template has a file; several are in tokenizer_config.json, not in a folder of theirs.
        one_template = isinstance(tokenizer.chat_template, str)
        tokenizer.save_pretrained(folder, save_jinja_files=one_template)
        names = _found(folder)
        for other in {path.name for path in folder.iterdir()} - set(names):
            if (folder / other).is_file():
                (folder / other).unlink()
        _compare(folder, tokenizer)
        if tokenizer.chat_template is not None:
            compare_templates(folder, tokenizer)
        return {name: _bytes(folder / name) for name in names}


def _bytes(path: Path) -> bytes:
    """A file's; a vocabulary's without the white space that is a quarter of it."""
    if path.name != "vocab.json":
        return path.read_bytes()
    vocabulary = json.loads(path.read_text(encoding="utf-8"))
    return json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":")).encode()


def _found(folder: Path) -> Sequence[str]:
    for names in _TOKENIZER_FILES:
        if all((folder / name).is_file() for name in names):
            others = (_TOKENIZER_CONFIG, _CHAT_TEMPLATE)
            return [*names, *(name for name in others if (folder / name).is_file())]
    there = ", ".join(sorted(path.name for path in folder.iterdir()))
    raise UnsupportedError(f"the runtime reads no tokenizer from these files: {there}")


def _compare(folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    from polystate.runtime import Tokenizer

    kind = type(tokenizer).__name__
    try:
        own = Tokenizer.open(folder)
        for text in _SAMPLES:
            ids, own_ids = tokenizer(text).input_ids, list(own.encode(text))
            if own_ids != ids:
                raise UnsupportedError(
                    f"{json.dumps(text)} becomes {own_ids} in the runtime, and {ids} in {kind}"
                )
            back, own_back = tokenizer.decode(ids, **_AS_GENERATED), own.decode(ids)
            if own_back != back:
                raise UnsupportedError(
                    f"{ids} become {json.dumps(own_back)} in the runtime, and "
                    f"{json.dumps(back)} in {kind}"
                )
    except Error as error:
        raise UnsupportedError(f"the runtime has no tokenizer equal to {kind}: {error}") from error
