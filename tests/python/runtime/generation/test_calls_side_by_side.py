"""Generation on many threads, in event loops, in forked processes, and by Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import polystate as ps
from tests.python.runtime.generation.texts import TEXT
from tests.support.toy_completion import toy_completion
from tests.support.toy_translation import toy_translation


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
pipeline = ps.pipeline(sys.argv[1])
texts = [f"I have {i} words for it, and more." for i in range(20000)]
before = pipeline("Hello.")
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    if sys.argv[2] == "score":
        pipeline.score(texts)
    else:
        pipeline(texts, num_beams=4)
except KeyboardInterrupt:
    print(time.monotonic() - begin)
print(pipeline("Hello.") == before)
"""


@pytest.mark.parametrize(
    ("made", "call"),
    [(toy_translation, "translate"), (lambda: toy_completion() / "toy", "score")],
    ids=["translate", "score"],
)
def test_ctrl_c_ends_a_call_within_a_step(
    made: Callable[[], Path], call: str, run_python: Callable[..., str]
) -> None:
    seconds, goes_on = run_python(INTERRUPTED, made(), call).splitlines()
    assert 1.0 < float(seconds) < 5.0  # all of it takes much longer
    assert goes_on == "True"
