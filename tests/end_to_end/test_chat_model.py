"""The chat model that ships answers as transformers' does, and as well in 8 bits."""

from __future__ import annotations

import pytest
import sacrebleu
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import polystate as ps
from tests.support.exported_models import CHAT_MODEL, ROOT, chat_model

LINES = (ROOT / "tests/data/tatoeba-en-fr/valid.tsv").read_text(encoding="utf-8").splitlines()
PAIRS = [line.split("\t")[:2] for line in LINES]


def prompt(english: str) -> str:
    return f"<|user|>Translate to French: {english}<|end|><|assistant|>"


@pytest.mark.exhaustive
def test_answers_are_those_of_transformers() -> None:
    answer = ps.pipeline(chat_model("xnnpack"))
    model = AutoModelForCausalLM.from_pretrained(CHAT_MODEL, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(CHAT_MODEL)
    for english, _ in PAIRS[::15]:
        inputs = tokenizer(prompt(english), return_tensors="pt")
        expected = model.generate(**inputs, do_sample=False, max_new_tokens=60)[0]
        given = inputs.input_ids.shape[1]
        text = tokenizer.decode(expected[given:], skip_special_tokens=True)
        assert ps.generate(answer.model, prompt(english), max_new_tokens=60) == text


@pytest.mark.exhaustive
def test_8_bits_cost_half_a_percent_of_perplexity_and_translate_as_well() -> None:
    texts = [f"{prompt(english)}{french}<|end|>" for english, french in PAIRS[:300]]
    exact, in_8_bits = (ps.pipeline(chat_model(recipe)) for recipe in ("xnnpack", "xnnpack_q8"))
    assert in_8_bits.score(texts).perplexity <= exact.score(texts).perplexity * 1.005
    prompts = [prompt(english) for english, _ in PAIRS[:300]]
    answers = in_8_bits(prompts, max_new_tokens=60, return_full_text=False)
    found = [answer[0]["generated_text"] for answer in answers]
    assert sacrebleu.corpus_bleu(found, [[french for _, french in PAIRS[:300]]]).score >= 35
