"""Some whole models of transformers with a batch that varies; `make sweep` tries all."""

import pytest

from tests.end_to_end import whole_models
from tests.end_to_end.trials import EQUAL
from tests.end_to_end.twins import ENGINES


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", ENGINES)
@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "swin", "wav2vec2", "patchtst"])
def test_a_whole_model_equals_pytorchs_at_each_batch(kind, backend):
    name = f"transformers/{kind}"
    trial = dict(whole_models.trials(name))[name]()
    assert trial.outcome(backend) == (EQUAL, "")
