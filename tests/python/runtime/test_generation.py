"""``ps.pipeline`` and ``Model.generate``: what they take, call and refuse."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import polystate as ps
from tests.python.runtime.runtime_support import RunPython
from tests.support.altered_artifacts import change_file, change_manifest
from tests.support.toy_translation import toy_translation

TEXT = "I like it very much."


@pytest.fixture(scope="module")
def model() -> ps.Model:
    return ps.load(toy_translation())


@pytest.fixture(scope="module")
def translate(model: ps.Model) -> ps.Pipeline:
    return ps.pipeline(model)


@pytest.fixture(scope="module")
def ids(model: ps.Model) -> list[int]:
    return list(ps.Tokenizer.open(toy_translation()).encode(TEXT))


def greedy(translate: ps.Pipeline, text: str, **names: Any) -> str:
    answer: str = translate(text, num_beams=1, **names)[0]["translation_text"]
    return answer


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


def test_a_setting_without_effect_is_accepted_with_a_warning(translate: ps.Pipeline) -> None:
    with pytest.warns(UserWarning, match="'cache_implementation'") as caught:
        answer = translate(TEXT, num_beams=1, cache_implementation="static")
    assert caught[0].filename == __file__
    assert answer == translate(TEXT, num_beams=1)


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


@pytest.mark.parametrize("beams", [1, 4])
def test_a_generation_ends_when_its_time_is_over(model: ps.Model, beams: int) -> None:
    ids = model.generate([5, 0], num_beams=beams, max_time=0.0).sequences[0]
    assert len(ids) == 2
    whole = model.generate([5, 0], num_beams=beams).sequences
    assert model.generate([5, 0], num_beams=beams, max_time=1e6).sequences == whole


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


def test_threads_belong_to_load(model: ps.Model) -> None:
    with pytest.raises(ps.ContractError, match=r"polystate\.load"):
        ps.pipeline(model, threads=2)


def test_ids_may_be_lists_or_arrays(model: ps.Model, ids: list[int]) -> None:
    expected = model.generate(ids, num_beams=1).sequences
    padding = model.constants["padding_id"]
    padded = [[*ids, padding], [*ids[1:], padding, padding]]
    mask = [[1] * len(ids) + [0], [1] * (len(ids) - 1) + [0, 0]]
    forms: list[Any] = [[ids], np.array([ids]), torch.tensor(ids), [np.array(ids)]]
    for form in forms:
        assert model.generate(form, num_beams=1).sequences == expected
    by_padding = model.generate(np.array(padded), num_beams=1).sequences
    by_mask = model.generate(padded, attention_mask=np.array(mask) == 1, num_beams=1).sequences
    assert by_padding[0] == expected[0]
    assert by_padding == by_mask


def test_beams_have_scores(model: ps.Model, ids: list[int]) -> None:
    found = model.generate(ids, num_beams=3, num_return_sequences=3)
    assert found.sequences_scores == sorted(found.sequences_scores or [], reverse=True)
    assert len(found.sequences) == 3
    assert model.generate(ids, num_beams=1).sequences_scores is None


@pytest.mark.parametrize("beams", [1, 3])
def test_scores_logits_and_log_probabilities_are_given_token_by_token(
    model: ps.Model, ids: list[int], beams: int
) -> None:
    found = model.generate(
        [ids, ids[:2]],
        num_beams=beams,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
        logprobs=3,
    )
    assert found.scores is not None
    assert found.logits is not None
    assert found.logprobs is not None
    vocabulary = model.constants["vocabulary_size"]
    assert {step.shape for step in (*found.scores, *found.logits)} == {(2, vocabulary)}
    lengths = [len(sequence) - 1 for sequence in found.sequences]
    assert len(found.scores) == len(found.logits) == max(lengths)
    for i, sequence in enumerate(found.sequences):
        assert len(found.logprobs[i]) == lengths[i]
        for t, given in enumerate(found.logprobs[i]):
            expected = torch.log_softmax(torch.from_numpy(found.logits[t][i]).double(), 0)
            assert given.token == sequence[t + 1]
            assert given.logprob == pytest.approx(expected[given.token].item(), abs=1e-5)
            assert list(given.top) == expected.topk(3).indices.tolist()
        assert all(np.isnan(step[i]).all() for step in found.scores[lengths[i] :])
    plain = model.generate([ids, ids[:2]], num_beams=beams)
    assert plain.sequences == found.sequences
    assert plain.scores is plain.logits is plain.logprobs is plain.prompt_logprobs is None


def test_a_text_is_scored_without_generating(model: ps.Model, ids: list[int]) -> None:
    (target,) = model.generate(ids, num_beams=1).sequences
    found = model.generate(
        ids, decoder_input_ids=target, num_beams=1, prompt_logprobs=1, max_new_tokens=0
    )
    assert found.sequences == [target]
    assert found.usage[0].generated_tokens == 0
    assert found.prompt_logprobs is not None
    first, *rest = found.prompt_logprobs[0]
    assert first is None
    again = model.generate(ids, num_beams=1, logprobs=0).logprobs
    assert again is not None
    for given, generated in zip(rest, again[0], strict=True):
        assert given is not None
        assert given.token == generated.token
        assert given.logprob == pytest.approx(generated.logprob, abs=1e-4)
    with pytest.raises(ps.ContractError, match="max_new_tokens"):
        model.generate(ids, max_new_tokens=0)


def test_a_sequence_that_is_kept_is_not_read_again(model: ps.Model, ids: list[int]) -> None:
    options: dict[str, Any] = {"num_beams": 1, "max_new_tokens": 6, "eos_token_id": None}
    first = model.generate(ids, keep=True, **options)
    assert first.kept is not None
    assert first.kept[0] is not None
    (tokens,) = first.sequences
    assert first.kept[0].tokens == tokens[:-1]
    for length in (len(tokens), 4):
        prompt = [*tokens[:length], 9]
        again = model.generate(ids, decoder_input_ids=prompt, kept=first.kept, **options)
        anew = model.generate(ids, decoder_input_ids=prompt, **options)
        assert again.sequences == anew.sequences
        assert again.usage[0].cached_tokens == min(length, len(tokens) - 1)
        assert anew.usage[0].cached_tokens == 0
        assert again.kept is None
    with pytest.raises(ps.ContractError, match="kept are 1 and input_ids 2"):
        model.generate([ids, ids], kept=first.kept, **options)


def test_a_prompt_is_gone_on_from(model: ps.Model, ids: list[int]) -> None:
    (whole,) = model.generate(ids, num_beams=1).sequences
    assert model.generate(ids, decoder_input_ids=whole[:3], num_beams=1).sequences == [whole]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "input_ids is a NoneType"),
        ("Hi", "input_ids is a str"),
        (np.array(5), "input_ids is a ndarray"),
        (np.array([5.0]), "has 5.0, which is no id"),
        (np.zeros((1, 2, 3), int), "which is no id"),
        ([True], "has True, which is no id"),
        ([-1], "has -1, which is no id"),
        ([2**32], "which is no id"),
        ([5, [6]], "ids beside lists of ids"),
        ([], "the source is empty"),
        ([99999], "99999 is past the vocabulary"),
        ([5] * 257, "the source has 257 tokens; the model takes 256"),
    ],
)
def test_ids_of_another_kind_are_refused(model: ps.Model, given: Any, message: str) -> None:
    with pytest.raises(ps.ContractError, match=message):
        model.generate(given)


def test_a_mask_and_prompts_fit_their_inputs(model: ps.Model, ids: list[int]) -> None:
    with pytest.raises(ps.ContractError, match="another shape"):
        model.generate(ids, attention_mask=[1])
    with pytest.raises(ps.ContractError, match="decoder_input_ids are 2 and input_ids 1"):
        model.generate(ids, decoder_input_ids=[[0], [0]])


def test_a_processor_changes_scores_in_place_or_returns_new_ones(translate: ps.Pipeline) -> None:
    seen: list[int] = []

    def forbid_end(tokens: list[int], scores: np.ndarray[Any, Any]) -> None:
        seen.append(len(tokens))
        scores[0] = -np.inf

    def forbid_end_anew(_: list[int], scores: np.ndarray[Any, Any]) -> Any:
        return torch.from_numpy(np.where(np.arange(len(scores)) == 0, -np.inf, scores))

    options: dict[str, Any] = {"max_new_tokens": 12, "forced_eos_token_id": None}
    longer = greedy(translate, TEXT, logits_processor=[forbid_end], **options)
    assert seen == list(range(1, 13))
    assert longer != greedy(translate, TEXT)
    anew = greedy(translate, TEXT, logits_processor=[forbid_end_anew], **options)
    assert anew == longer
    assert translate(TEXT, logits_processor=None) == translate(TEXT)


class _EveryThirdIs:
    """Forces a token at every third place, counted in a state of each row."""

    def __init__(self, token: int) -> None:
        self.token = token
        self.forks = 0

    @dataclass
    class Row:
        """How many tokens a row has."""

        owner: _EveryThirdIs
        tokens: int

        def advance(self, _: int) -> None:
            """Counts."""
            self.tokens += 1

        def fork(self) -> _EveryThirdIs.Row:
            """Copies the count."""
            self.owner.forks += 1
            return dataclasses.replace(self)

        def rewind(self, count: int) -> None:
            """Counts back."""
            self.tokens -= count

    def start(self, tokens: list[int]) -> Row:
        """Begins after the prompt."""
        return self.Row(self, len(tokens))

    def __call__(self, row: Row, scores: np.ndarray[Any, Any]) -> None:
        """Forces the token."""
        if row.tokens % 3 == 0:
            scores[self.token] = scores.max() + 100


@pytest.mark.parametrize("options", [{"num_beams": 1}, {"num_beams": 3}])
def test_a_processor_may_keep_a_state_for_each_row(
    model: ps.Model, ids: list[int], options: dict[str, Any]
) -> None:
    def stateless(tokens: list[int], scores: np.ndarray[Any, Any]) -> None:
        if len(tokens) % 3 == 0:
            scores[9] = scores.max() + 100

    processor = _EveryThirdIs(9)
    found = model.generate(
        ids, logits_processor=[processor], max_new_tokens=12, eos_token_id=None, **options
    ).sequences
    assert found[0][3::3] == [9] * 4
    assert processor.forks == 0 or options["num_beams"] > 1
    again = model.generate(
        ids, logits_processor=[stateless], max_new_tokens=12, eos_token_id=None, **options
    ).sequences
    assert found == again


def test_the_tokens_of_a_row_are_not_copied_at_each_step(model: ps.Model, ids: list[int]) -> None:
    lists: list[int] = []
    model.generate(ids, num_beams=1, logits_processor=[lambda tokens, _: lists.append(id(tokens))])
    assert len(lists) > 3
    assert len(set(lists)) == 1


def test_scores_may_be_kept(translate: ps.Pipeline) -> None:
    kept: list[np.ndarray[Any, Any]] = []
    greedy(translate, TEXT, logits_processor=[lambda _, scores: kept.append(scores)])
    copies = [scores.copy() for scores in kept]
    greedy(translate, "Where is the station?")
    for scores, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(scores, copy)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda scores: scores[:3], r"scores of shape \[3\]"),
        (lambda _: "x", "could not convert"),
        (lambda scores: scores * np.nan, "NaN"),
        (lambda scores: scores - np.inf, "no token is left"),
    ],
)
def test_scores_of_another_kind_are_refused(
    translate: ps.Pipeline, answer: Callable[[Any], Any], message: str
) -> None:
    before = translate(TEXT)
    with pytest.raises(ps.ContractError, match=message):
        translate(TEXT, num_beams=1, logits_processor=[lambda _, scores: answer(scores)])
    assert translate(TEXT) == before


def test_a_sampler_chooses_each_token(translate: ps.Pipeline) -> None:
    assert greedy(translate, TEXT, sampler=np.argmax) == greedy(translate, TEXT)
    assert greedy(translate, TEXT, sampler=lambda scores: torch.tensor(0)) == ""


@pytest.mark.parametrize("token", [10**9, -1, 10**30, None, 1.5])
def test_a_token_that_is_none_is_refused(translate: ps.Pipeline, token: Any) -> None:
    with pytest.raises(ps.ContractError, match="the sampler chose"):
        translate(TEXT, num_beams=1, sampler=lambda _: token)


@pytest.mark.parametrize("raised", [KeyError("mine"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("where", ["logits_processor", "sampler", "on_text"])
def test_an_exception_of_the_user_s_comes_back(
    translate: ps.Pipeline, where: str, raised: BaseException
) -> None:
    def fail(*_: Any) -> Any:
        raise raised

    given: Any = [fail] if where == "logits_processor" else fail
    before = greedy(translate, TEXT)
    with pytest.raises(type(raised)) as caught:
        translate(TEXT, num_beams=1, **{where: given})
    assert caught.value is raised
    assert greedy(translate, TEXT) == before


def test_a_stream_joins_to_the_text(translate: ps.Pipeline) -> None:
    pieces: dict[int, str] = {0: "", 1: ""}

    def add(number: int, piece: str) -> None:
        pieces[number] += piece

    answers = translate([TEXT, "Hello."], num_beams=1, on_text=add)
    assert list(pieces.values()) == [answer["translation_text"] for answer in answers]


@pytest.mark.parametrize("false", [False, np.False_])
def test_a_stream_ends_where_it_is_told_to(translate: ps.Pipeline, false: Any) -> None:
    pieces = []

    def end(number: int, piece: str) -> Any:
        pieces.append(piece)
        return false

    assert greedy(translate, TEXT, on_text=end) == pieces[0]
    assert len(pieces) == 1


def test_tokens_are_given_as_they_are_chosen(model: ps.Model, ids: list[int]) -> None:
    tokens: list[int] = []
    (found,) = model.generate(
        ids, num_beams=1, on_token=lambda _, token: tokens.append(token)
    ).sequences
    assert found[1:] == tokens


def test_a_pipeline_in_use_is_busy(translate: ps.Pipeline) -> None:
    def again(*_: Any) -> None:
        translate(TEXT, num_beams=1)

    with pytest.raises(ps.BusyError):
        translate(TEXT, num_beams=1, on_text=again)


def test_calls_of_many_threads_run_side_by_side(
    model: ps.Model, translate: ps.Pipeline, ids: list[int]
) -> None:
    expected = model.generate(ids, num_beams=1).sequences
    text = translate(TEXT)
    found: list[Any] = []

    def generate() -> None:
        for _ in range(3):
            found.append(model.generate([ids] * 4, num_beams=1).sequences == expected * 4)
            found.append(translate(TEXT) == text)

    threads = [threading.Thread(target=generate) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 48


def test_functions_of_a_caller_may_be_let_go_by_any_thread(model: ps.Model, ids: list[int]) -> None:
    options: dict[str, Any] = {"num_beams": 1, "max_new_tokens": 4}
    expected = model.generate(ids, **options).sequences
    found: list[bool] = []

    def generate() -> None:
        for _ in range(20):

            def keep(tokens: list[int], scores: Any) -> None:
                pass

            def go_on(tokens: list[int]) -> bool:
                return False

            functions: dict[str, Any] = {"logits_processor": [keep], "stopping_criteria": [go_on]}
            found.append(model.generate(ids, **options, **functions).sequences == expected)

    threads = [threading.Thread(target=generate) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 160


def test_an_event_loop_is_not_blocked(translate: ps.Pipeline, model: ps.Model) -> None:
    async def many() -> list[Any]:
        texts = [translate.call_async(TEXT) for _ in range(8)]
        return await asyncio.gather(*texts, model.generate_async([5, 0]))

    *texts, ids = asyncio.run(many())
    assert texts == [translate(TEXT)] * 8
    assert ids == model.generate([5, 0])


def test_a_cancelled_task_ends_its_generation(model: ps.Model) -> None:
    ended = threading.Event()

    def slow(tokens: list[int], _: Any) -> None:
        time.sleep(0.02)
        if len(tokens) > 200:
            ended.set()

    async def cancel() -> None:
        task = asyncio.create_task(
            model.generate_async([5, 0], num_beams=1, eos_token_id=None, logits_processor=[slow])
        )
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert not ended.is_set()
    assert model.generate([5, 0], num_beams=1)


def test_an_answer_says_what_it_cost(model: ps.Model, ids: list[int]) -> None:
    page = model.constants["page_size"]
    output = model.generate([ids, ids], num_beams=1, max_new_tokens=page, eos_token_id=None)
    first, again = output.usage
    assert first == ps.Usage(len(ids) + 1, 0, page, 2)
    assert again == ps.Usage(len(ids) + 1, len(ids) + 1, page, 0)
    (beams,) = model.generate(ids, num_beams=3, max_new_tokens=page, eos_token_id=None).usage
    assert beams == ps.Usage(len(ids) + 1, 0, page, 6)


@pytest.fixture
def forked() -> Iterator[Callable[[Callable[[], Any]], str]]:
    def run(function: Callable[[], Any]) -> str:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                answer = repr(function())
            except BaseException as error:
                answer = type(error).__name__
            os.write(writer, answer.encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as file:
            answer = file.read()
        os.waitpid(child, 0)
        return answer

    yield run


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_is_refused(
    translate: ps.Pipeline,
    model: ps.Model,
    forked: Callable[[Callable[[], Any]], str],
) -> None:
    assert forked(lambda: translate([TEXT] * 8)) == "UnsupportedError"
    assert forked(lambda: model.generate([5, 0])) == "UnsupportedError"
    assert forked(lambda: ps.pipeline(model)) == "UnsupportedError"


INTERRUPTED = """
import os, signal, sys, threading, time
import polystate as ps
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
translate = ps.pipeline(sys.argv[1])
texts = [f"I have {i} words for it, and more." for i in range(4000)]
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    translate(texts, num_beams=4)
except KeyboardInterrupt:
    print(time.monotonic() - begin)
print(translate("Hello.", num_beams=1) == translate(["Hello."], num_beams=1))
"""


def test_ctrl_c_ends_a_call_within_a_step(run_python: RunPython) -> None:
    seconds, goes_on = run_python(INTERRUPTED, toy_translation()).splitlines()
    assert 1.0 < float(seconds) < 5.0  # all of it takes much longer
    assert goes_on == "True"


def test_progress_counts_the_finished(translate: ps.Pipeline, model: ps.Model) -> None:
    counts: list[int] = []
    texts = [TEXT, "Hello.", "Where is the station?"]
    translate(texts, num_beams=1, on_progress=counts.append)
    assert counts == [1, 2, 3]
    counts.clear()
    model.generate([[5, 0], [6, 0]], num_beams=2, on_progress=counts.append)
    assert counts == [1, 2]

    def fail(_: int) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        translate(texts, num_beams=1, on_progress=fail)
    with pytest.raises(ps.ContractError, match="on_progress is a int"):
        translate(texts, on_progress=3)  # type: ignore[arg-type]


def test_scores_are_those_of_the_beams(translate: ps.Pipeline) -> None:
    answers = translate(TEXT, num_beams=3, num_return_sequences=3, return_scores=True)
    scores = [answer["score"] for answer in answers]
    assert scores == sorted(scores, reverse=True)
    assert translate(TEXT, num_beams=1, return_scores=True)[0]["score"] is None
    assert "score" not in translate(TEXT, num_beams=2)[0]


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
