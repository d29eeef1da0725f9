"""Generated texts have the form that is asked for: samples, beams, streams, encoder-decoders."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tokenizers import Tokenizer, decoders, models

import polystate as ps
from tests.python.grammar.schemas import draw_schema
from tests.python.grammar.walks import walk
from tests.support.exported_models import chat_model
from tests.support.toy_chat import toy_chat
from tests.support.toy_completion import toy_completion
from tests.support.toy_translation import toy_translation

CODE: dict[str, Any] = {"type": "regex", "pattern": "[0-9]{4}-(north|south)"}


@pytest.fixture(scope="module")
def complete() -> ps.Pipeline:
    return ps.pipeline(toy_completion() / "toy")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_beams": 3, "num_return_sequences": 3},
        {"do_sample": True, "num_return_sequences": 4, "seed": 1},
        {"do_sample": True, "num_beams": 2, "seed": 2},
    ],
)
def test_every_search_gives_texts_of_the_form(
    complete: ps.Pipeline, options: dict[str, Any]
) -> None:
    prompts = ["I like", "Where is the station?", "He"]
    answers = complete(
        prompts, response_format=CODE, max_new_tokens=24, return_full_text=False, **options
    )
    texts = [answer["generated_text"] for each in answers for answer in each]
    assert len(texts) == len(prompts) * options.get("num_return_sequences", 1)
    for text in texts:
        assert re.fullmatch(CODE["pattern"], text)


def test_a_stream_is_the_text(complete: ps.Pipeline) -> None:
    text = ps.generate(complete.model, "He", response_format=CODE, max_new_tokens=24)
    assert "".join(complete.stream("He", response_format=CODE, max_new_tokens=24)) == text


def test_prompts_beside_it_are_as_they_are_alone(complete: ps.Pipeline) -> None:
    alone = ps.generate(complete.model, "He", max_new_tokens=9)
    ps.generate(complete.model, "He", max_new_tokens=9, response_format=CODE)
    assert ps.generate(complete.model, "He", max_new_tokens=9) == alone


@pytest.mark.parametrize("beams", [1, 3])
def test_translations_begin_with_words_as_the_tokenizer_writes_them(beams: int) -> None:
    translate = ps.pipeline(toy_translation())
    for choice in ("Où est la gare ?", "gare", "est"):
        answer = translate(
            "I like it.",
            num_beams=beams,
            response_format={"type": "choice", "choices": [choice]},
        )
        assert answer == [{"translation_text": choice}]


def test_a_configuration_that_forbids_what_must_come_is_an_error(complete: ps.Pipeline) -> None:
    with pytest.raises(ps.ContractError, match=r"no token continues the text .*min_new_tokens"):
        complete(
            "He",
            response_format={"type": "choice", "choices": ["a"]},
            min_new_tokens=9,
            max_new_tokens=12,
        )


@pytest.mark.parametrize("response_format", ["regex", {"type": "regex", "pattern": "(a"}])
def test_malformed_formats_are_refused(complete: ps.Pipeline, response_format: Any) -> None:
    with pytest.raises(ps.ContractError, match="response_format"):
        complete("He", response_format=response_format)


def test_tokenizers_whose_tokens_have_no_bytes_of_their_own_are_refused(tmp_path: Path) -> None:
    vocabulary = {"[UNK]": 0, "a": 1, "##b": 2}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ps.UnsupportedError, match="depends on its neighbours"):
        ps.Grammar(ps.Tokenizer.open(tmp_path), CODE, 0)


@pytest.mark.exhaustive
def test_the_shipped_chat_model_gives_valid_json_for_a_thousand_schemas() -> None:
    """Drawn at temperature 1, and cut after 200 tokens: most end by themselves, all can."""
    folder = chat_model("xnnpack_q8")
    answer, tokenizer = ps.pipeline(folder), ps.Tokenizer.open(folder)
    end = tokenizer.token_to_id("<|end|>")
    assert end is not None
    prompt = "<|user|>Translate to French: I am hungry.<|end|><|assistant|>"
    ended = 0
    for seed in range(1000):
        schema = draw_schema(seed)
        response_format = {"type": "json_schema", "schema": schema}
        text = ps.generate(
            answer.model,
            prompt,
            response_format=response_format,
            do_sample=True,
            seed=seed,
            max_new_tokens=200,
        ).rstrip("\ufffd")  # of a character that was cut
        state = ps.Grammar(tokenizer, response_format, end).start()
        for token in tokenizer.encode(text, add_special_tokens=False):
            state.advance(token)
        rest = walk(tokenizer, state, random.Random(seed), 0, end)
        jsonschema.validate(json.loads(text + tokenizer.decode(rest)), schema)
        ended += not rest
    assert ended >= 900


def test_answers_of_chat_models_have_the_form() -> None:
    answer = ps.pipeline(toy_chat() / "toy")
    messages = [{"role": "user", "content": "Where is Brest?"}]
    given = answer(messages, response_format=CODE, max_new_tokens=24)
    assert re.fullmatch(CODE["pattern"], given[0]["generated_text"][-1]["content"])
    chat = ps.Conversation(answer, max_new_tokens=24)
    assert re.fullmatch(CODE["pattern"], chat.ask("Where is Brest?", response_format=CODE))
    assert re.fullmatch(CODE["pattern"], chat.retry(response_format=CODE))
    pieces = list(chat.stream("And Lyon?", response_format=CODE))
    assert "".join(pieces) == chat.messages[-1]["content"]
    assert re.fullmatch(CODE["pattern"], chat.messages[-1]["content"])
