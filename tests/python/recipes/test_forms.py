"""Which form of calling a model is found, and that any suitable one does."""

from __future__ import annotations

import pytest
import torch
from transformers import MarianConfig, MarianMTModel

from polystate.errors import ExportError
from polystate.recipes.capacity import Capacity
from polystate.recipes.forms import packed_methods
from tests.python.recipes.tiny_models import MARIAN, NAMES, tiny_model

CAPACITY = Capacity(4, 20, 20)


class HeadOfItsOwn(MarianMTModel):
    """Its logits are no result of the module that is said to make them."""

    def get_output_embeddings(self) -> torch.nn.Module:
        named = torch.nn.Linear(1, 1, bias=False)
        named.weight = self.lm_head.weight
        return named


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_computed_of_the_wanted_tokens_alone(name: str) -> None:
    with packed_methods(tiny_model(name), CAPACITY, None) as methods:
        form = methods.form
    assert form.selects_first
    assert form.skips_padding == (name == "m2m100")


def test_logits_are_selected_last_where_the_model_makes_them_otherwise() -> None:
    torch.manual_seed(0)
    model = HeadOfItsOwn(MarianConfig(**MARIAN)).eval()
    with packed_methods(model, CAPACITY, None) as methods:
        assert not methods.form.selects_first


def test_a_model_that_mixes_the_tokens_of_a_step_is_refused() -> None:
    model = tiny_model("marian")
    model.lm_head.register_forward_hook(lambda _, __, logits: logits - logits.mean(dim=(0, 1)))
    with pytest.raises(ExportError, match="does not compute over paged caches what it computes"):
        packed_methods(model, CAPACITY, None).__enter__()
