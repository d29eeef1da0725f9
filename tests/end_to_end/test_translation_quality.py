"""The shipped model on its validation sentences: token for token, and what 8 bits cost."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import polystate as ps
from tests.support.exported_models import MODEL, ROOT, demo_model, kept

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


# The shipped model's recipes, exact and in 8 bits, on each engine.
every_engine = pytest.mark.parametrize(
    ("exact", "eight_bits"),
    [
        pytest.param("xnnpack", "xnnpack_q8", id="executorch"),
        pytest.param("aoti", "aoti_q8", id="aoti", marks=pytest.mark.exhaustive),
    ],
)


def source_ids() -> list[list[int]]:
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    return [tokenizer(sentence).input_ids for sentence in references()]


@cache
def generated_by_transformers(beams: int) -> list[tuple[list[int], float | None]]:
    """Sequences through their ends, and their scores."""
    folder = kept(_generate_by_transformers, beams, files=MODEL.iterdir())
    return [(sequence, score) for sequence, score in json.loads((folder / "found").read_text())]


def _generate_by_transformers(out: Path, beams: int) -> None:
    """Write what it gives for each sentence; those of like length are generated together."""
    ids = source_ids()
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
    (out / "found").write_text(json.dumps(found))


@every_engine
@pytest.mark.parametrize("beams", [1, 4])
def test_every_token_is_that_of_transformers(exact: str, eight_bits: str, beams: int) -> None:
    del eight_bits
    wanted = generated_by_transformers(beams)
    model = ps.load(demo_model(exact), trust_code=True)
    found = model.generate(source_ids(), num_beams=beams)
    assert found.sequences == [sequence for sequence, _ in wanted]
    if beams > 1:
        scores = [score for _, score in wanted]
        assert found.sequences_scores == pytest.approx(scores, abs=1e-4)


def quality(recipe: str, beams: int) -> tuple[float, float]:
    """BLEU against all references, and chrF against the first of each sentence."""
    translate = ps.pipeline(demo_model(recipe), trust_code=True)
    answers = translate(list(references()), num_beams=beams)
    texts = [answer["translation_text"] for answer in answers]
    most = max(map(len, references().values()))
    columns = [[(each + [None] * most)[i] for each in references().values()] for i in range(most)]
    bleu = sacrebleu.corpus_bleu(texts, columns).score
    return bleu, sacrebleu.corpus_chrf(texts, columns[:1]).score


@every_engine
@pytest.mark.parametrize("beams", [1, 4])
def test_eight_bits_cost_little(exact: str, eight_bits: str, beams: int) -> None:
    wanted, found = quality(exact, beams), quality(eight_bits, beams)
    assert wanted[0] > 45
    for with_all_bits, with_eight in zip(wanted, found, strict=True):
        assert with_eight >= with_all_bits - ALLOWED_LOSS
