"""A causal language model with random weights, for tests of all that lies around a model."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import polystate as ps
from tests.support.exported_models import ROOT, kept

_TEXT = ROOT / "tests/data/tatoeba-en-fr/valid.tsv"
_VOCABULARY = 384
LENGTH = 64


def toy_completion() -> Path:
    """A folder with a small Llama and its tokenizer as ``model``, and their artifact as ``toy``."""
    return kept(_export, backend="xnnpack", files=[_TEXT])


def _export(out: Path) -> None:
    _tokenizer().save_pretrained(out / "model")
    _model().save_pretrained(out / "model")
    ps.export_pretrained(out / "model", out / "toy", max_length=LENGTH, max_batch=8)


def byte_pair_tokenizer() -> Tokenizer:
    """Of parts of words, which begin with their spaces; <s> is 0 and </s> is 1."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(_TEXT)], trainer)
    return tokenizer


def _tokenizer() -> PreTrainedTokenizerFast:
    """Texts begin with <s>."""
    tokenizer = byte_pair_tokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )


def small_llama(vocabulary_size: int, length: int) -> LlamaForCausalLM:
    """Of random weights, for texts of `length` tokens, of which 0 begins and 1 ends one."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary_size,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=length,
        initializer_range=0.4,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    return LlamaForCausalLM(config).eval()


def _model() -> LlamaForCausalLM:
    """With random weights in its norms, too, which tells many continuations apart."""
    model = small_llama(_VOCABULARY, LENGTH)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.uniform_(0.7, 1.3)
    return model
