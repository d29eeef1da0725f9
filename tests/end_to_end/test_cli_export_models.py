"""``polystate-export`` of models of transformers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import MarianConfig, MarianMTModel

import polystate as ps
from tests.end_to_end.command_line import polystate, polystate_export
from tests.support.exported_models import MODEL

FORMS = ("path/to/file.py:function", "package.module:function", "config.json", "hub")


def save_tiny_model(folder: Path, vocabulary: int, **settings: Any) -> Path:
    """Save a random model without a tokenizer; its last token is the padding."""
    torch.manual_seed(0)
    last = vocabulary - 1
    config = MarianConfig(
        vocab_size=vocabulary, decoder_vocab_size=vocabulary,
        d_model=16, max_position_embeddings=32,
        encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=16,
        pad_token_id=last, eos_token_id=0, decoder_start_token_id=last, forced_eos_token_id=0,
        **settings,
    )  # fmt: skip
    MarianMTModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("tiny-marian"), 50)


def put_on_the_hub(cache: Path, name: str, *, tokenizer: bool = True) -> Path:
    """Make what is left of a download: a tiny model, with the tokenizer of the shipped one."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    folder = cache / f"models--{name.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text(commit)
    # Larger weights than usual, so that it generates different tokens.
    snapshot = save_tiny_model(folder / "snapshots" / commit, 6002, init_std=0.6)
    if tokenizer:
        for file in ("source.spm", "target.spm", "vocab.json", "tokenizer_config.json"):
            (snapshot / file).symlink_to(MODEL / file)
    return snapshot


def test_a_directory_with_a_model_is_exported_and_says_nothing(
    tiny_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = polystate_export(
        tiny_model, out,
        "--backend", "portable", "--max-length", "16", "--max-batch", "4",
        "--task", "summarization",
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    constants = ps.load(out).constants
    assert constants["task"] == "summarization"
    assert (constants["max_length"], constants["max_sequences"]) == (16, 4)
    # Without a tokenizer's files it takes and gives ids.
    ids = [5, 17, 3, 0]
    model = MarianMTModel.from_pretrained(tiny_model).eval()
    expected = model.generate(torch.tensor([ids]), max_length=8, num_beams=1).tolist()
    found = ps.load(out).generate([ids], max_length=8, num_beams=1)
    assert found.sequences == expected
    refused = polystate("translate", out, "Hello")
    assert refused.returncode == 3
    assert "tokenizer" in refused.stderr


MISSING = ["a/b/c", "./nowhere", "../nowhere", "/nowhere/at/all", "~/x", "org/", "gone.py"]


@pytest.mark.parametrize("source", [*MISSING, "folder/nowhere", "link"])
def test_what_is_not_there_is_not_asked_from_the_hub(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    done = polystate_export(source, "out", cwd=tmp_path)
    assert done.returncode == 2
    assert f"'{source}' is not there" in done.stderr
    assert all(form in done.stderr for form in FORMS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", None)  # which would ask
    for given in (source, Path(source), Path("org/name")):
        with pytest.raises(ps.ExportError, match="there is no such directory"):
            ps.export_pretrained(given, tmp_path / "out")


def test_a_directory_without_a_model_is_a_usage_error(tmp_path: Path) -> None:
    done = polystate_export(tmp_path, tmp_path / "out")
    assert done.returncode == 2
    assert "no config.json" in done.stderr


@pytest.mark.parametrize(
    ("source", "options", "named"),
    [
        ("a.py:make", ["--task", "translation"], "--task"),
        ("a.py:make", ["--recipe", "xnnpack"], "--recipe"),
        ("a.py:make", ["--max-length", "9"], "--max-length"),
        ("a.py:make", ["--max-batch", "9"], "--max-batch"),
        ("a.module:make", ["--source-language", "eng_Latn"], "--source-language"),
        ("a.module:make", ["--target-language", "fra_Latn"], "--target-language"),
        ("org/name", ["--constant", "a=1"], "--constant"),
        ("org/name", ["--debug-dir", "debug"], "--debug-dir"),
        ("org/name", ["--recipe", "portable", "--quantization", "none"], "--recipe"),
        ("org/name", ["--max-batch", "0"], "--max-batch"),
        ("org/name", ["--max-length", "many"], "--max-length"),
        ("org/name", ["--recipe", "fast"], "--recipe"),
        ("org/name", ["--task", "poetry"], "--task"),
        ("org/name", ["--max-length", "9", "--max-length", "8"], "--max-length is given twice"),
    ],
)
def test_an_option_that_the_source_does_not_take_is_a_usage_error(
    source: str, options: list[str], named: str, tmp_path: Path
) -> None:
    done = polystate_export(source, tmp_path / "out", *options)
    assert done.returncode == 2
    assert named in done.stderr.splitlines()[-1]


def test_a_name_on_the_hub_is_exported_with_its_tokenizer(tmp_path: Path) -> None:
    model = MarianMTModel.from_pretrained(put_on_the_hub(tmp_path / "hub", "org/name")).eval()
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path / "hub")}
    out = tmp_path / "out"
    done = polystate_export(
        "org/name", out,
        "--backend", "portable", "--max-length", "16", "--max-batch", "4", env=offline,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    ids = list(ps.Tokenizer.open(out).encode("Where is the station?"))
    expected = model.generate(torch.tensor([ids]), max_length=12, num_beams=1).tolist()
    assert ps.load(out).generate(ids, max_length=12, num_beams=1).sequences == expected
    assert len(set(expected[0])) > 4
    assert ps.load(out).constants["task"] == "translation"


def test_a_name_on_the_hub_without_a_tokenizer_takes_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_the_hub(tmp_path / "hub", "org/name", tokenizer=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    out = tmp_path / "out"
    with pytest.raises(ps.ExportError, match="cannot load org/name"):  # as long as it is not known
        ps.export_pretrained("org/name", out)
    files = ["config.json", "model.safetensors"]
    monkeypatch.setattr("huggingface_hub.list_repo_files", lambda name: files)
    ps.export_pretrained("org/name", out, backend="portable", max_length=4, max_batch=1)
    assert ps.load(out).generate([5, 17, 3, 0], num_beams=1).sequences
    with pytest.raises(ps.IoError, match="has no tokenizer"):
        ps.pipeline(out)


def test_a_name_that_the_hub_does_not_give_is_an_export_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(ps.ExportError, match=r"cannot load org/name, .* from the hub"):
        ps.export_pretrained("org/name", tmp_path / "out")


def test_a_name_that_the_hub_does_not_give_is_one_sentence(tmp_path: Path) -> None:
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache")}
    done = polystate_export("some-org/some-model", tmp_path / "out", env=offline)
    assert done.returncode == 4
    (sentence,) = done.stderr.splitlines()
    assert "cannot load some-org/some-model, which is no directory here, from the hub" in sentence
    assert not (tmp_path / "out").exists()


def test_a_model_of_another_kind_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "clip"}')
    done = polystate_export(tmp_path, tmp_path / "out")
    assert done.returncode == 4
    (sentence,) = done.stderr.splitlines()
    assert "is a clip, which generates no text" in sentence


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("fsmt", "FSMTForConditionalGeneration does not compute attention through transformers'"),
        ("vision-encoder-decoder", "is a vision-encoder-decoder, which generates no text"),
    ],
)
def test_a_model_that_lacks_what_an_export_needs_is_refused_before_it_is_read(
    tmp_path: Path, kind: str, told: str
) -> None:
    joined = ("encoder", "decoder") if kind == "vision-encoder-decoder" else ()
    config = {"model_type": kind, **{name: {"model_type": "bert"} for name in joined}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = polystate_export(tmp_path, tmp_path / "out")
    assert done.returncode == 4
    (sentence,) = done.stderr.splitlines()
    assert told in sentence


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('{"model_type": "marian"}', "model.safetensors"),  # there are no weights
        ('{"model_type": "no_such_model"}', "no_such_model"),
        ("{", "config.json"),
    ],
)
def test_what_transformers_cannot_load_is_an_export_error_of_one_line(
    config: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ps.ExportError, match=f"cannot load .*{message}") as failed:
        ps.export_pretrained(tmp_path, tmp_path / "out")
    assert "\n" not in str(failed.value)
