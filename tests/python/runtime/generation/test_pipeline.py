"""``ps.pipeline`` and ``ps.generate``: what they take, answer and refuse."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystate as ps
from tests.python.runtime.generation.texts import TEXT, greedy
from tests.support.altered_artifacts import change_file, change_manifest
from tests.support.toy_translation import toy_translation


def test_answers_have_the_form_of_transformers_pipelines(translate: ps.Pipeline) -> None:
    (one,) = translate(TEXT)
    assert list(one) == ["translation_text"]
    assert translate([TEXT]) == [one]
    assert translate([]) == []
    assert len(translate(TEXT, num_beams=3, num_return_sequences=3)) == 3
    both = translate([TEXT, "Hello."], num_beams=2, num_return_sequences=2)
    assert [len(answers) for answers in both] == [2, 2]
    assert translate.task == "translation"
    assert "translation" in repr(translate)


@pytest.mark.parametrize(
    ("task", "key"),
    [("summarization", "summary_text"), ("text2text-generation", "generated_text")],
)
def test_answers_are_named_by_the_task(tmp_path: Path, task: str, key: str) -> None:
    artifact = shutil.copytree(toy_translation(), tmp_path / "artifact")
    change_manifest(artifact, lambda manifest: manifest["constants"].update(task=task))
    pipeline = ps.pipeline(artifact)
    assert pipeline.task == task
    assert list(pipeline("Hello.", num_beams=1)[0]) == [key]


def test_any_iterable_of_texts_is_a_batch(translate: ps.Pipeline) -> None:
    texts = [TEXT, "Hello."]
    expected = translate(texts, num_beams=1)
    kinds: list[Any] = [tuple(texts), np.array(texts), (text for text in texts)]
    for kind in kinds:
        assert translate(kind, num_beams=1) == expected


def test_one_call_answers_one_text() -> None:
    assert ps.generate(toy_translation(), "Hello.", num_beams=1)
    with pytest.raises(ps.ContractError, match="prompt is a list"):
        ps.generate(toy_translation(), ["Hello."])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "text is a NoneType"),
        (5, "text is a int"),
        (b"Hi", "text is a bytes"),
        ([b"Hi"], "text 0 is a bytes"),
        (["Hi", ["Hi"]], "text 1 is a list"),
        ("a\udc80", "no valid Unicode"),
        ("word " * 300, "input 0 has 301 tokens, and the model takes 256"),
    ],
)
def test_a_text_of_another_kind_is_refused(translate: ps.Pipeline, text: Any, message: str) -> None:
    with pytest.raises(ps.ContractError, match=message):
        translate(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beams": 4}, "'beams': there is no such field"),
        ({"num_beams": 0}, "a whole number from 1"),
        ({"num_beams": "4"}, "a whole number from 1"),
        ({"num_beams": 2.0}, "a whole number from 1"),
        ({"num_beams": True}, "a whole number from 1"),
        ({"num_beams": 65}, "the model has 64 rows"),
        ({"num_beams": object()}, "which is no plain value"),
        ({"length_penalty": float("nan")}, "length_penalty is nan"),
        ({"eos_token_id": {0}}, "which is no plain value"),
        ({"truncation": "yes"}, "truncation is 'yes'"),
        ({"logits_processor": [3]}, "a function is needed"),
        ({"logits_processor": len}, "a list of functions is needed"),
        ({"sampler": 3}, "a function is needed"),
        ({"on_text": 3}, "a function is needed"),
        ({"on_text": print, "num_beams": 2}, "a stream is of one sequence"),
        ({"sampler": np.argmax, "num_beams": 2}, "a sampler chooses no beams"),
    ],
)
def test_an_option_that_it_does_not_have_is_refused(
    translate: ps.Pipeline, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ps.ContractError, match=message):
        translate(TEXT, **options)


def test_a_field_that_would_change_the_result_is_unsupported(translate: ps.Pipeline) -> None:
    with pytest.raises(ps.UnsupportedError, match="guidance_scale"):
        translate(TEXT, guidance_scale=1.5)


def test_a_setting_without_effect_is_accepted_with_a_warning(translate: ps.Pipeline) -> None:
    with pytest.warns(UserWarning, match="'cache_implementation'") as caught:
        answer = translate(TEXT, num_beams=1, cache_implementation="static")
    assert caught[0].filename == __file__
    assert answer == translate(TEXT, num_beams=1)


def test_fields_without_effect_are_told_when_an_artifact_is_opened(tmp_path: Path) -> None:
    artifact = shutil.copytree(toy_translation(), tmp_path / "artifact")
    change_file(
        artifact,
        "generation_config.json",
        lambda config: config.update(cache_implementation="static", no_such_field=1),
    )
    with pytest.warns(UserWarning, match="generation_config.json: '") as caught:
        pipeline = ps.pipeline(artifact)
    assert len(pipeline.warnings) == len(caught) == 2
    assert "'cache_implementation'" in pipeline.warnings[0]
    assert "'no_such_field'" in pipeline.warnings[1]


def test_numbers_of_numpy_and_dictionaries_of_tuples_are_taken(translate: ps.Pipeline) -> None:
    assert translate(TEXT, num_beams=np.int64(2)) == translate(TEXT, num_beams=2)
    first = greedy(translate, TEXT)
    assert greedy(translate, TEXT, sequence_bias={(7, 8): 0.0}) == first
    assert greedy(translate, TEXT, num_return_sequences=None) == first


def test_a_long_text_is_cut_where_it_may_be(translate: ps.Pipeline) -> None:
    tokenizer = ps.Tokenizer.open(toy_translation())
    *ids, end = tokenizer.encode("word " * 300)
    limit = translate.model.constants["max_source_length"]
    cut = translate.model.generate([*ids[: limit - 1], end], num_beams=1, max_new_tokens=4)
    expected = tokenizer.decode(cut.sequences[0])
    assert greedy(translate, "word " * 300, truncation=True, max_new_tokens=4) == expected


def test_scores_are_those_of_the_beams(translate: ps.Pipeline) -> None:
    answers = translate(TEXT, num_beams=3, num_return_sequences=3, return_scores=True)
    scores = [answer["score"] for answer in answers]
    assert scores == sorted(scores, reverse=True)
    assert translate(TEXT, num_beams=1, return_scores=True)[0]["score"] is None
    assert "score" not in translate(TEXT, num_beams=2)[0]


def test_threads_belong_to_load(model: ps.Model) -> None:
    with pytest.raises(ps.ContractError, match=r"polystate\.load"):
        ps.pipeline(model, threads=2)


def test_a_pipeline_takes_what_load_takes_and_has_its_warnings() -> None:
    artifact = toy_translation()
    sha256 = ps.load(artifact).sha256
    pipeline = ps.pipeline(artifact, verification="trusted", expect_sha256=sha256)
    assert pipeline.warnings == []
    with pytest.raises(ps.ArtifactError):
        ps.pipeline(artifact, expect_sha256="0" * 64)
    with pytest.raises(TypeError, match="thread"):
        ps.pipeline(artifact, thread=2)


def test_a_tokenizer_that_the_artifact_does_not_list_is_not_read(tmp_path: Path) -> None:
    artifact = shutil.copytree(toy_translation(), tmp_path / "artifact")
    listed = ps.load(artifact)
    expected = greedy(ps.pipeline(listed), TEXT)
    (artifact / "tokenizer.json").write_text("{")  # which would come first
    (artifact / "chat_template.jinja").write_text("not listed")
    assert greedy(ps.pipeline(artifact), TEXT) == expected
    ids = ps.Tokenizer.open(toy_translation()).encode(TEXT)
    model = ps.load(artifact)
    artifact.rename(tmp_path / "elsewhere")  # the model keeps its directory open
    assert model.generate(ids, stop_strings=["no such text"], max_new_tokens=4)
    assert greedy(ps.pipeline(model), TEXT) == expected
