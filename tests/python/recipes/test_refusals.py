"""Models that cannot run over pages are refused before anything is exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    GenerationConfig,
    LEDConfig,
    LEDForConditionalGeneration,
    MarianMTModel,
)

import polystate as ps
from polystate.recipes.sentences import first_sentence
from polystate.recipes.text_files import GENERATION_CONFIG, generation_files
from tests.python.recipes.causal_models import causal_model
from tests.python.recipes.tiny_models import BART, tiny_model


def test_attention_of_a_models_own(tmp_path: Path) -> None:
    config = LEDConfig(**BART, attention_window=4)
    message = "LEDForConditionalGeneration does not compute attention through transformers'"
    with pytest.raises(ps.UnsupportedError, match=message):
        ps.export_pretrained(LEDForConditionalGeneration(config).eval(), tmp_path / "led")
    assert not (tmp_path / "led").exists()


def test_a_model_of_which_8_bits_leave_another(tmp_path: Path) -> None:
    model = tiny_model("marian")
    with torch.no_grad():  # a large value that no logit reads, beside which others round to zero
        model.model.decoder.layers[-1].final_layer_norm.bias[0] = 1e5
        model.lm_head.weight[:, 0] = 0
    out = tmp_path / "marian"
    with pytest.raises(ps.ExportError, match="quantization 'q8' does not suit MarianMTModel"):
        ps.export_pretrained(model, out, quantization="q8", max_length=8, max_batch=2)
    assert not out.exists()
    ps.export_pretrained(model, out, max_length=8, max_batch=2)


def test_steps_that_are_not_the_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model("marian")
    original = MarianMTModel.forward

    def forward(self: MarianMTModel, *args: Any, **kwargs: Any) -> Any:
        output = original(self, *args, **kwargs)
        if kwargs.get("past_key_values") is not None:
            output.logits = output.logits * 1.1
        return output

    monkeypatch.setattr(MarianMTModel, "forward", forward)
    message = "does not compute over paged caches what it computes without"
    with pytest.raises(ps.ExportError, match=message):
        ps.export_pretrained(model, tmp_path / "marian")
    assert not (tmp_path / "marian").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt_lookup_num_tokens", 10),
        ("penalty_alpha", 0.6),
        ("guidance_scale", 1.5),
        ("decoder_start_token_id", [1, 2]),
    ],
)
def test_a_configuration_that_the_runtime_cannot_generate_by(
    tmp_path: Path, field: str, value: Any
) -> None:
    model = tiny_model("marian")
    setattr(model.generation_config, field, value)
    with pytest.raises(ps.UnsupportedError, match=f"cannot generate as the model's .*{field}"):
        ps.export_pretrained(model, tmp_path / "marian", max_length=8, max_batch=2)
    assert not (tmp_path / "marian").exists()


def test_a_changed_configuration_that_transformers_would_not_save_is_written() -> None:
    config = GenerationConfig(eos_token_id=2)
    config.temperature = 0.5  # without do_sample
    written = json.loads(generation_files(config)[GENERATION_CONFIG])
    assert written["temperature"] == 0.5
    assert written["eos_token_id"] == 2
    assert "compile_config" not in written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "chat"}, "task is 'chat'; it may be"),
        ({"backend": "tpu"}, "backend is 'tpu'; it may be"),
        ({"quantization": "q4"}, "quantization is 'q4'; it may be"),
        ({"recipe": "q8"}, "recipe is 'q8'; it may be"),
        ({"recipe": "xnnpack_q8", "quantization": "q8"}, "stands for a backend and a quantization"),
        ({"recipe": "xnnpack", "backend": "xnnpack"}, "stands for a backend and a quantization"),
        ({"target": "x86-64-v3"}, "has no code that is for a processor"),
        ({"backend": "aoti", "target": "no name"}, "it must name processors"),
    ],
)
def test_names_are_refused_before_a_model_is_loaded(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(ps.ContractError, match=message):
        ps.export_pretrained(tmp_path / "absent", tmp_path / "out", **options)  # type: ignore[arg-type]


def test_tasks_of_other_models(tmp_path: Path) -> None:
    with pytest.raises(ps.ContractError, match="'text-generation', and MarianMTModel has an enc"):
        ps.export_pretrained(tiny_model("marian"), tmp_path / "out", task="text-generation")
    for task in ("translation", "summarization", "text2text-generation"):
        with pytest.raises(ps.ContractError, match=f"'{task}', and LlamaForCausalLM has no enc"):
            ps.export_pretrained(causal_model("llama"), tmp_path / "out", task=task)


class Adapter(torch.nn.Module):
    """As PEFT has a model."""

    def merge_and_unload(self) -> None:
        raise AssertionError("nobody calls it")


def test_what_is_no_model_of_transformers(tmp_path: Path) -> None:
    model = tiny_model("marian")
    wrapped = {
        "model.module": torch.nn.DataParallel(model),
        "model._orig_mod": torch.compile(model),
        r"model.merge_and_unload\(\)": Adapter(),
    }
    for instead, source in wrapped.items():
        message = f"source is a {type(source).__name__} around a model .* give {instead}"
        with pytest.raises(ps.ContractError, match=message):
            ps.export_pretrained(source, tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(ps.ContractError, match="source is a Linear, which is no model of"):
        ps.export_pretrained(torch.nn.Linear(1, 1), tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(ps.ContractError, match="source is a int; a model of transformers"):
        ps.export_pretrained(3, tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(ps.ExportError, match="there is no such directory"):
        ps.export_pretrained(tmp_path / ("a" * 300), tmp_path / "out")


def test_weights_of_another_type_or_place(tmp_path: Path) -> None:
    model = tiny_model("marian")
    model.model.encoder.layers[0].fc1.half()  # and not the first of them
    with pytest.raises(ps.ContractError, match=r"fc1.weight' is torch.float16; export takes"):
        ps.export_pretrained(model, tmp_path / "out")
    with pytest.raises(ps.ContractError, match=r"is on meta; .* model.cpu\(\)"):
        ps.export_pretrained(tiny_model("marian").to("meta"), tmp_path / "out")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("one\ntwo", "one"),
        ("\n  it is invalid:\n  - a\n  - b", "it is invalid: - a"),
        ("it is invalid:", "it is invalid:"),
        ("", "ValueError"),
    ],
)
def test_the_first_sentence_of_an_error_says_something(said: str, sentence: str) -> None:
    assert first_sentence(ValueError(said)) == sentence
