"""Tables of positions end where an artifact's lengths do, and the model is left as it was."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import PreTrainedModel

from polystate.recipes.capacity import Capacity
from polystate.recipes.positions import shortened_positions
from tests.python.recipes.causal_models import causal_model
from tests.python.recipes.tiny_models import BART, NAMES, VOCABULARY, tiny_model

SOURCE, TARGET = 20, 12
POSITIONS: int = BART["max_position_embeddings"]
# Rows before the first position's, of the kin of BART that has them.
OFFSET = 2


def rows(model: PreTrainedModel) -> list[int]:
    return [m.weight.shape[0] for m in model.modules() if isinstance(m, nn.Embedding)]


def logits(model: PreTrainedModel) -> torch.Tensor:
    """Of the longest texts that the artifact takes."""
    generator = torch.Generator().manual_seed(0)
    source, target = (
        torch.randint(3, VOCABULARY, (1, n), generator=generator) for n in (SOURCE, TARGET)
    )
    with torch.no_grad():
        result: torch.Tensor = model(input_ids=source, decoder_input_ids=target).logits
    return result


@pytest.mark.parametrize("name", NAMES)
def test_the_longest_texts_are_read_as_before(name: str) -> None:
    model = tiny_model(name)
    before, expected = rows(model), logits(model)
    with shortened_positions(model, Capacity(4, SOURCE, TARGET)):
        assert torch.equal(logits(model), expected)
    assert rows(model) == before
    assert torch.equal(logits(model), expected)


@pytest.mark.parametrize(("name", "offset"), [("marian", 0), ("pegasus", 0), ("bart", OFFSET)])
def test_tables_end_with_what_is_read(name: str, offset: int) -> None:
    model = tiny_model(name)
    assert POSITIONS + offset in rows(model)
    with shortened_positions(model, Capacity(4, SOURCE, TARGET)):
        assert set(rows(model)) == {VOCABULARY, SOURCE + offset, TARGET + offset}


def test_a_model_that_fails_within_the_block_is_as_before() -> None:
    model = tiny_model("bart")
    before = rows(model)
    with pytest.raises(ZeroDivisionError), shortened_positions(model, Capacity(4, SOURCE, TARGET)):
        raise ZeroDivisionError
    assert rows(model) == before


def test_a_second_table_of_tokens_stays_whole() -> None:
    # Tokens that the table lacks read its first row, as the first token does.
    fewer_positions = {"max_position_embeddings": 32, "vocab_size_per_layer_input": 50}
    model = causal_model("gemma3n", **fewer_positions)
    before = rows(model)
    assert 50 in before
    with shortened_positions(model, Capacity(4, None, TARGET)):
        assert rows(model) == before
