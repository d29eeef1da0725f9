"""Tokenizers that go into artifacts: the ids and the texts are those of transformers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import sentencepiece
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    AutoTokenizer,
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MBart50Tokenizer,
    MBartTokenizer,
    NllbTokenizer,
    PegasusTokenizer,
    PreTrainedTokenizerBase,
    T5Tokenizer,
)

import polystate as ps
from polystate.recipes.languages import Languages, with_languages
from polystate.recipes.text_files import tokenizer_files
from tests.python.recipes.tiny_models import BART
from tests.support.exported_models import MODEL, kept

ROOT = Path(__file__).parents[3]
BEGINNING = ["<s>", "<pad>", "</s>", "<unk>"]


@cache
def sentences() -> list[str]:
    """English sentences, and French ones."""
    lines = (ROOT / "tests/data/tatoeba-en-fr/valid.tsv").read_text(encoding="utf-8").splitlines()
    return [sentence for line in lines[:300] for sentence in line.split("\t")]


def scored_pieces(*beginning: str) -> list[tuple[str, float]]:
    """A vocabulary of the unigram model, with these tokens before it."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(sentences(), trainers.UnigramTrainer(vocab_size=400))
    pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
    return [*((token, 0.0) for token in beginning), *((piece, score) for piece, score in pieces)]


def nllb(folder: Path) -> PreTrainedTokenizerBase:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=BEGINNING)
    tokenizer.train_from_iterator(sentences(), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    return NllbTokenizer(
        vocab=model["vocab"], merges=merges, src_lang="eng_Latn", tgt_lang="fra_Latn"
    )


def m2m100(folder: Path) -> PreTrainedTokenizerBase:
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences()),
        model_writer=content,
        model_type="bpe",
        vocab_size=400,
        minloglevel=2,
    )
    (folder / "sentencepiece.bpe.model").write_bytes(content.getvalue())
    pieces = sentencepiece.SentencePieceProcessor(model_proto=content.getvalue())
    tokens = [*BEGINNING, *(pieces.id_to_piece(i) for i in reversed(range(3, 400)))]
    vocabulary = {token: id for id, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    return M2M100Tokenizer.from_pretrained(folder, src_lang="en", tgt_lang="fr")


def vocabulary_size(tokenizer: PreTrainedTokenizerBase) -> int:
    """One more than the largest id."""
    languages = getattr(tokenizer, "lang_code_to_id", None)
    unused = 8  # ids that models of M2M100 have room for
    return 1 + max(languages.values()) + unused if languages else len(tokenizer)


KINDS: dict[str, Callable[[Path], PreTrainedTokenizerBase]] = {
    "nllb": nllb,
    "m2m100": m2m100,
    "mbart": lambda _: MBartTokenizer(
        vocab=scored_pieces(*BEGINNING), src_lang="en_XX", tgt_lang="fr_XX"
    ),
    "mbart50": lambda _: MBart50Tokenizer(
        vocab=scored_pieces("<unk>", "<s>", "</s>"), src_lang="en_XX", tgt_lang="fr_XX"
    ),
    "t5": lambda _: T5Tokenizer(vocab=scored_pieces("<pad>", "</s>", "<unk>")),
    "pegasus": lambda _: PegasusTokenizer(
        vocab=scored_pieces("<pad>", "</s>", "<mask_1>", "<mask_2>", "<unk>")
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_files_give_an_equal_tokenizer(kind: str, tmp_path: Path) -> None:
    theirs = KINDS[kind](tmp_path)
    saved = tmp_path / "saved"
    saved.mkdir()
    for name, content in tokenizer_files(theirs).items():
        (saved / name).write_bytes(content)
    own = ps.Tokenizer.open(saved)
    for text in [*sentences(), "", " a  b ", "\u65e5\u672c </s> x"]:
        ids = theirs(text).input_ids
        assert list(own.encode(text)) == ids
        assert own.decode(ids) == theirs.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [
        ("nllb", "eng_Latn", "deu_Latn"),
        ("m2m100", "en", "de"),
        ("mbart", "en_XX", "de_DE"),
        ("mbart50", "en_XX", "de_DE"),
    ],
)
def test_a_tokenizer_is_given_languages(
    kind: str, source: str, target: str, tmp_path: Path
) -> None:
    theirs = KINDS[kind](tmp_path)
    before = theirs("Hello").input_ids
    own = with_languages(theirs, Languages(target, source))
    assert own is not None
    assert theirs("Hello").input_ids == before
    theirs.src_lang = target
    assert own("Hello").input_ids == theirs("Hello").input_ids != before
    saved = tmp_path / "saved"
    saved.mkdir()
    for name, content in tokenizer_files(own).items():
        (saved / name).write_bytes(content)
    assert list(ps.Tokenizer.open(saved).encode("Hello")) == own("Hello").input_ids
    with pytest.raises(ps.ContractError, match="source_language is 'xx', which the tokenizer"):
        with_languages(theirs, Languages("xx"))


@pytest.mark.parametrize("name", ["source_language", "target_language"])
def test_languages_without_effect_are_refused(name: str, tmp_path: Path) -> None:
    languages = Languages(**{name.removesuffix("_language"): "en"})
    with pytest.raises(ps.ContractError, match=f"{name} needs a tokenizer"):
        with_languages(None, languages)
    for kind in ("t5", "pegasus"):
        with pytest.raises(ps.ContractError, match=f"{name} is 'en', and .* has no choice"):
            with_languages(KINDS[kind](tmp_path), languages)
    with pytest.raises(ps.ContractError, match=f"{name} is 'en', and MarianTokenizer has no"):
        ps.export_pretrained(MODEL, tmp_path / "out", **{name: "en"})
    assert not (tmp_path / "out").exists()


def _export_one_direction(out: Path, kind: str, source: str, target: str) -> None:
    """Writes a model with its tokenizer, and the artifact that they become."""
    torch.manual_seed(0)
    tokenizer = KINDS[kind](out)
    config = M2M100Config(**BART | {"vocab_size": vocabulary_size(tokenizer)})
    M2M100ForConditionalGeneration(config).save_pretrained(out / "model")
    tokenizer.save_pretrained(out / "model")
    languages = {"source_language": source, "target_language": target}
    ps.export_pretrained(out / "model", out / "artifact", **languages, max_length=32, max_batch=4)


@pytest.mark.parametrize(
    ("kind", "source", "target"), [("nllb", "eng_Latn", "fra_Latn"), ("m2m100", "en", "fr")]
)
def test_an_artifact_has_one_direction(kind: str, source: str, target: str, tmp_path: Path) -> None:
    made = kept(_export_one_direction, kind, source, target)
    folder, out = made / "model", tmp_path / "artifact"
    if kind == "m2m100":
        with pytest.raises(ps.ContractError, match="source_language is 'xx', which the tokenizer"):
            ps.export_pretrained(folder, out, source_language="xx", target_language=target)
    with pytest.raises(ps.ContractError, match="target_language is 'xx', which is no token"):
        ps.export_pretrained(folder, out, source_language=source, target_language="xx")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = M2M100ForConditionalGeneration.from_pretrained(folder).eval()
    first = tokenizer.convert_tokens_to_ids(target if kind == "nllb" else f"__{target}__")
    translate = ps.pipeline(made / "artifact")
    assert translate.task == "translation"
    for text in sentences()[:4]:
        batch = tokenizer(text, return_tensors="pt")
        wanted = model.generate(
            **batch, forced_bos_token_id=first, max_length=32, num_beams=2, do_sample=False
        )[0]
        assert translate(text, num_beams=2)[0]["translation_text"] == tokenizer.decode(
            wanted, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
