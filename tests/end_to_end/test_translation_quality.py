"""The shipped model on its validation sentences: token for token, and what 8 bits cost."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import sacrebleu
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import polystate as ps
from exported_models import MODEL, ROOT, demo_model

PAIRS = ROOT / "tests/data/tatoeba-en-fr/valid.tsv"
GROUP = 50
ALLOWED_LOSS = 0.3


@cache
def references() -> dict[str, list[str]]:
    """The French references by their English sentence, in the file's order."""
    found: dict[str, list[str]] = {}
    for line in PAIRS.read_text(encoding="utf-8").splitlines():
        english, french = line.split("\t")
        found.setdefault(english, []).append(french)
    return found


def generated_by_transformers(
    ids: list[list[int]], beams: int
) -> list[tuple[list[int], float | None]]:
    """Sequences through their ends, and their scores; sentences of like length together."""
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForSeq2SeqLM.from_pretrained(MODEL, dtype=torch.float32).eval()
    end = model.generation_config.eos_token_id
    found: list[Any] = [None] * len(ids)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    for first in range(0, len(order), GROUP):
        group = order[first : first + GROUP]
        batch = tokenizer.pad({"input_ids": [ids[i] for i in group]}, return_tensors="pt")
        with torch.no_grad():
            output = model.generate(
                **batch, num_beams=beams, return_dict_in_generate=True, output_scores=True
            )
        scores = output.sequences_scores.tolist() if beams > 1 else [None] * len(group)
        for i, row, score in zip(group, output.sequences.tolist(), scores, strict=True):
            found[i] = (row[: row.index(end, 1) + 1], score)
    return found


@pytest.mark.parametrize("beams", [1, 4])
def test_every_token_is_that_of_transformers(beams: int) -> None:
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    ids = [tokenizer(sentence).input_ids for sentence in references()]
    wanted = generated_by_transformers(ids, beams)
    found = ps.load(demo_model()).generate(ids, num_beams=beams)
    assert found.sequences == [sequence for sequence, _ in wanted]
    if beams > 1:
        scores = [score for _, score in wanted]
        assert found.sequences_scores == pytest.approx(scores, abs=1e-4)


def quality(recipe: str, beams: int) -> tuple[float, float]:
    """BLEU against all references, and chrF against the first of each sentence."""
    answers = ps.pipeline(demo_model(recipe))(list(references()), num_beams=beams)
    texts = [answer["translation_text"] for answer in answers]
    most = max(map(len, references().values()))
    columns = [[(each + [None] * most)[i] for each in references().values()] for i in range(most)]
    bleu = sacrebleu.corpus_bleu(texts, columns).score
    return bleu, sacrebleu.corpus_chrf(texts, columns[:1]).score


@pytest.mark.parametrize("beams", [1, 4])
def test_eight_bits_cost_little(beams: int) -> None:
    single, eight = quality("xnnpack", beams), quality("xnnpack_q8", beams)
    assert single[0] > 45
    for exact, quantized in zip(single, eight, strict=True):
        assert quantized >= exact - ALLOWED_LOSS
