"""What is found of causal language models by trying, and which of them are refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedModel
from transformers.masking_utils import (
    causal_mask_function,
    chunked_causal_mask_function,
    sliding_window_causal_mask_function,
)

import polystate as ps
from polystate.recipes.architectures.decoder_only import DecoderOnly
from polystate.recipes.capacity import Capacity, capacity_of
from polystate.recipes.forms import packed_methods
from polystate.recipes.modules import evaluated, experts, linears
from polystate.recipes.paged.attention import own_attention
from polystate.recipes.paged.masks import window_of
from polystate.recipes.parity import check_positions
from polystate.recipes.rotary import fixed_frequencies
from tests.python.recipes.causal_models import (
    LLAMA,
    NAMES,
    VOCABULARY,
    WINDOW,
    WINDOWED,
    causal_model,
)

CAPACITY = Capacity(4, None, 48)


@pytest.mark.parametrize("name", NAMES)
def test_steps_over_pages_are_the_models(name: str) -> None:
    model = causal_model(name)
    with (
        fixed_frequencies(model, CAPACITY.max_length),
        linears(model),
        experts(model),
        packed_methods(model, CAPACITY, None) as methods,
    ):
        pass
    assert isinstance(methods, DecoderOnly)
    assert methods.form.selects_first
    assert {layer.window for layer in methods.layers} <= {0, WINDOW}
    assert any(layer.window for layer in methods.layers) == (name in WINDOWED)


def test_layers_that_share_keys_have_one_pool() -> None:
    with packed_methods(causal_model("gemma3n"), CAPACITY, None) as methods:
        pass
    assert isinstance(methods, DecoderOnly)
    assert [layer.makes_keys for layer in methods.layers] == [True, True, False, False]
    assert len(methods.self_caches.pools()) == 2


@pytest.mark.parametrize("length", [1, 7, 40, 5000])
@pytest.mark.parametrize("window", [1, 8, 700, 4096])
def test_windows_are_those_of_the_mask_at_any_length(length: int, window: int) -> None:
    assert window_of(causal_mask_function, length) == 0
    found = window_of(sliding_window_causal_mask_function(window), length)
    assert found == (window if window < length else 0)


@pytest.mark.parametrize(("chunk", "length"), [(8, 40), (1000, 5000), (4096, 5000)])
def test_masks_of_another_kind_are_refused(chunk: int, length: int) -> None:
    mask = chunked_causal_mask_function(chunk, torch.zeros(1, dtype=torch.int64))
    with pytest.raises(ps.UnsupportedError, match="not causal, with or without a window"):
        window_of(mask, length)
    assert window_of(mask, chunk) == 0  # so short texts have one chunk
    with pytest.raises(ps.UnsupportedError, match="not causal"):
        window_of(lambda _, __, q, k: (k <= q) | (k < 3), length)


def _of(prefix: str, **fields: Any) -> PreTrainedModel:
    config = getattr(transformers, f"{prefix}Config")(**{"vocab_size": VOCABULARY, **fields})
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config).eval()
    return model


_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
REFUSED = {
    "Falcon": (_SMALL, "does not compute attention through transformers' interface"),
    "Bloom": ({"hidden_size": 32, "n_layer": 2, "n_head": 4}, "through transformers' interface"),
    "GPTJ": (
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4},
        "through transformers' interface",
    ),
    "Mpt": ({"d_model": 32, "n_layers": 2, "n_heads": 4}, "through transformers' interface"),
    "Llama4Text": (
        LLAMA | {"intermediate_size_mlp": 48, "num_local_experts": 2, "attention_chunk_size": 8},
        "the model's mask is not causal",
    ),
    "Bert": (_SMALL | {"intermediate_size": 48}, "keeps nothing in a Cache between"),
    "Mamba": ({"hidden_size": 32, "num_hidden_layers": 2}, "keeps .* between its tokens"),
    "Mamba2": (
        {"hidden_size": 32, "num_hidden_layers": 2, "num_heads": 4, "head_dim": 16, "n_groups": 1},
        "keeps .* between its tokens",
    ),
    "Lfm2": (LLAMA | {"layer_types": ["conv", "full_attention"] * 2}, "keeps .* between its"),
    "Rwkv": (
        {"hidden_size": 32, "num_hidden_layers": 2, "attention_hidden_size": 32},
        "keeps nothing in a Cache between its tokens",
    ),
    "RecurrentGemma": (
        {**_SMALL, "num_hidden_layers": 3, "intermediate_size": 48, "attention_window_size": 8},
        "keeps nothing in a Cache between its tokens",
    ),
}


@pytest.mark.parametrize("prefix", REFUSED)
def test_what_pages_cannot_keep_is_refused_in_one_sentence(prefix: str, tmp_path: Path) -> None:
    fields, message = REFUSED[prefix]
    with pytest.raises(ps.UnsupportedError, match=message) as refusal:
        ps.export_pretrained(_of(prefix, **fields), tmp_path / "model", max_length=32, max_batch=2)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "model").exists()


def test_frequencies_that_change_with_a_texts_length_are_refused(tmp_path: Path) -> None:
    rope = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    model = LlamaForCausalLM(LlamaConfig(**LLAMA, rope_parameters=rope)).eval()
    with pytest.raises(ps.UnsupportedError, match="'default' computes the same"):
        ps.export_pretrained(model, tmp_path / "model")

    # What the sentence says.
    ids = torch.randint(3, VOCABULARY, (1, model.config.max_position_embeddings))
    plain = LlamaForCausalLM(LlamaConfig(**LLAMA)).eval()
    plain.load_state_dict(model.state_dict())
    with torch.no_grad():
        assert torch.equal(model(ids).logits, plain(ids).logits)


def test_positions_that_depend_on_how_far_a_step_goes_are_refused() -> None:
    model = causal_model("phi3-longrope")  # without the frequencies of one length
    with own_attention(model):
        for length in (16, 48):
            capacity = Capacity(4, None, length)
            methods = DecoderOnly(model, capacity, DecoderOnly.forms[0])
            if length == 16:
                check_positions(model, methods, capacity)
                continue
            with pytest.raises(ps.ExportError, match="beside a token at position 47"):
                check_positions(model, methods, capacity)


def test_longrope_has_the_frequencies_of_the_artifacts_length() -> None:
    model = causal_model("phi3-longrope")
    ids = torch.randint(3, VOCABULARY, (1, 10))
    with torch.no_grad():
        short = model(ids).logits
        with warnings.catch_warnings(action="error"), fixed_frequencies(model, 16):
            assert torch.equal(model(ids).logits, short)
        with (
            pytest.warns(UserWarning, match=r"long ones.* at most 16 tokens.* max_length=16"),
            fixed_frequencies(model, 48),
        ):
            assert not torch.equal(model(ids).logits, short)
        assert torch.equal(model(ids).logits, short)  # the model is as it was


def test_the_model_is_as_it_was() -> None:
    for name in ("gpt2", "qwen3_moe"):
        model = causal_model(name)
        ids = torch.randint(3, VOCABULARY, (1, 10))
        before, kinds = model(ids).logits, [type(module) for module in model.modules()]
        implementation = model.get_experts_implementation()
        with linears(model), experts(model):
            assert torch.allclose(model(ids).logits, before, atol=1e-5)
        assert [type(module) for module in model.modules()] == kinds
        assert model.get_experts_implementation() == implementation
        assert torch.equal(model(ids).logits, before)


def test_modules_are_in_the_modes_that_they_were_in() -> None:
    model = causal_model("llama").train()
    model.get_submodule("model.layers.0").eval()
    modes = [module.training for module in model.modules()]
    assert {*modes} == {True, False}
    with evaluated(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == modes


def test_positions_are_as_many_as_embeddings_are_scaled_to() -> None:
    short = causal_model("llama-yarn", max_position_embeddings=16)  # the original ones, four times
    assert capacity_of(short, 64, 1).max_length == 64
    for model in (short, causal_model("llama-linear"), causal_model("llama")):
        with pytest.raises(ps.ContractError, match="max_length is 65, and the model has 64 pos"):
            capacity_of(model, 65, 1)
