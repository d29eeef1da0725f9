"""Processes scores in C++, and with transformers' processors."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import subprocess
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig
from transformers.generation.utils import GenerationMixin
from transformers.utils import logging

from tests.support.executables import executable

logging.set_verbosity_error()
torch.set_num_threads(1)  # rows are small


@dataclasses.dataclass
class Case:
    """A configuration, and a row whose next token is chosen."""

    config: dict[str, Any]
    scores: np.ndarray[Any, np.dtype[np.float32]]
    tokens: list[int]
    prompt_length: int
    source: list[int]  # empty: a decoder alone
    max_length: int
    text: str = ""  # of the file, where it is not what transformers writes


@dataclasses.dataclass
class Answer:
    """What polystate made of a case: scores, or an error."""

    scores: np.ndarray[Any, Any] = dataclasses.field(default_factory=lambda: np.zeros(0))
    warnings: Sequence[str] = ()
    error: str = ""


def processed(cases: Sequence[Case]) -> list[Answer]:
    """Return each case's scores as polystate processes them, or the error."""
    asked = io.BytesIO()
    for case in cases:
        line = {
            "config": case.text or GenerationConfig(**case.config).to_json_string(),
            "tokens": case.tokens,
            "prompt_length": case.prompt_length,
            "source": case.source,
            "max_length": case.max_length,
            "size": len(case.scores),
        }
        asked.write(json.dumps(line).encode() + b"\n" + case.scores.tobytes())
    done = subprocess.run(
        [executable("tests/cpp/sampler/process_scores")],
        input=asked.getvalue(),
        capture_output=True,
        check=True,
    )
    answers = io.BytesIO(done.stdout)
    found = []
    for case in cases:
        answer = Answer(**json.loads(answers.readline()))
        if not answer.error:
            answer.scores = np.frombuffer(answers.read(4 * len(case.scores)), np.float32)
        found.append(answer)
    return found


def full_config(case: Case) -> GenerationConfig:
    """Return the configuration as `generate` has it once it prepared lengths and special tokens."""
    config = GenerationConfig(**copy.deepcopy(case.config))
    for name, value in GenerationConfig._get_default_generation_params().items():
        if getattr(config, name, None) is None:
            setattr(config, name, value)
    config.max_length = case.max_length
    if config.min_new_tokens is not None:
        config.min_length = config.min_new_tokens + case.prompt_length
    ends = config.eos_token_id
    config._eos_token_tensor = None if ends is None else torch.tensor(ends).reshape(-1)
    return config


def expected(case: Case) -> np.ndarray[Any, Any]:
    """Return the scores as transformers processes them."""
    model = SimpleNamespace(
        config=SimpleNamespace(is_encoder_decoder=bool(case.source)),
        _merge_criteria_processor_list=lambda default, own: default,
    )
    processors = GenerationMixin._get_logits_processor(
        model,
        full_config(case),
        input_ids_seq_length=case.prompt_length,
        encoder_input_ids=torch.tensor([case.source or case.tokens[: case.prompt_length]]),
        device="cpu",
    )
    row = torch.tensor([case.tokens], dtype=torch.long)
    return processors(row, torch.tensor(case.scores)[None])[0].numpy()
