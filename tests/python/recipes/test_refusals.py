"""Models that cannot run over pages are refused before anything is exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LEDConfig, LEDForConditionalGeneration, MarianMTModel

import polystate as ps
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
