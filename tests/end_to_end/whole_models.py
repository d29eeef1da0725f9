"""Whole models with a batch that varies: timm's small ones and encoders of transformers.

``python -m tests.end_to_end.whole_models --backend xnnpack --results FILE`` tries all of them and
goes on where it ended; ``--only timm/test_vit`` tries those whose names begin so. Each is compared
with eager at its smallest batch, its largest and one between. timm's models are tried where it can
be imported: ``pip install --no-deps --target DIRECTORY timm torchvision pillow`` and ``--packages
DIRECTORY``.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

from tests.end_to_end.trials import Trial, run_resumable, trial_parser

_BATCHES = (2, 1, 4, 3)  # the example's, the smallest, the largest, one between

_TEXT = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "max_position_embeddings": 64,
}
_IMAGE = {
    "image_size": 32,
    "patch_size": 8,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
}
_SPEECH = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "conv_dim": (16, 16),
    "conv_stride": (4, 4),
    "conv_kernel": (8, 8),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
}

# By its type in transformers, what a configuration has beside that of its kind.
_TEXTS: dict[str, dict[str, Any]] = {
    "albert": {"embedding_size": 16},
    "bert": {},
    "camembert": {},
    "convbert": {"embedding_size": 32},
    "data2vec-text": {},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 37},
    "electra": {"embedding_size": 16},
    "ernie": {},
    "esm": {"pad_token_id": 1, "position_embedding_type": "rotary"},
    "fnet": {},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "layoutlm": {},
    "megatron-bert": {},
    "mobilebert": {"embedding_size": 16, "intra_bottleneck_size": 16, "num_hidden_layers": 2},
    "modernbert": {"pad_token_id": 0, "global_attn_every_n_layers": 2, "local_attention": 8},
    "mpnet": {},
    "nystromformer": {"num_landmarks": 12, "segment_means_seq_len": 12},
    "rembert": {"input_embedding_size": 16},
    "roberta": {},
    "roformer": {"embedding_size": 32},
    "squeezebert": {"embedding_size": 32, "intermediate_size": 64},
    "xlm-roberta": {},
}
_IMAGES: dict[str, dict[str, Any]] = {
    "beit": {"use_relative_position_bias": True},
    "convnext": {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
    "convnextv2": {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
    "data2vec-vision": {},
    "deit": {},
    "dinov2": {},
    "focalnet": {"embed_dim": 16, "depths": [1, 1], "hidden_sizes": [16, 32], "patch_size": 4},
    "mobilenet_v1": {"depth_multiplier": 0.25, "min_depth": 4},
    "mobilenet_v2": {"depth_multiplier": 0.25, "min_depth": 4},
    "poolformer": {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]},
    "regnet": {"embedding_size": 8, "hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]},
    "resnet": {"embedding_size": 8, "hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]},
    "segformer": {
        "hidden_sizes": [8, 16, 16, 32],
        "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 2, 4],
    },
    "swin": {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 2},
    "swinv2": {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 2},
    "vit": {},
    "vit_msn": {},
}
_SPEECHES: dict[str, dict[str, Any]] = {
    "data2vec-audio": {"conv_pos_kernel_size": 7},
    "hubert": {},
    "sew": {"squeeze_factor": 2},
    "unispeech": {},
    "wav2vec2": {},
    "wavlm": {"num_buckets": 16, "max_bucket_distance": 40},
}
_SERIES: dict[str, dict[str, Any]] = {
    "patchtsmixer": {"context_length": 32, "patch_length": 8, "patch_stride": 8, "d_model": 16},
    "patchtst": {"context_length": 32, "patch_length": 8, "patch_stride": 8, "d_model": 16},
}

_OF_TIMM = (
    "convnext_atto",
    "edgenext_xx_small",
    "efficientnet_b0",
    "ghostnet_050",
    "hardcorenas_a",
    "lcnet_035",
    "levit_128s",
    "mixer_s32_224",
    "mnasnet_small",
    "mobilenetv3_small_050",
    "mobilenetv4_conv_small",
    "mobilevit_xxs",
    "poolformerv2_s12",
    "pvt_v2_b0",
    "regnetx_002",
    "repvgg_a0",
    "resnet10t",
    "tinynet_e",
    "vit_tiny_patch16_224",
    "xcit_nano_12_p16_224",
)


class Named(nn.Module):
    """A model whose tensors are given in an order; all tensors of its result are its outputs."""

    def __init__(self, model: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model = model
        self._names = names

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        given = dict(zip(self._names, inputs, strict=True))
        result = self.model(**given, return_dict=False)
        return [each for each in pytree.tree_leaves(result) if isinstance(each, torch.Tensor)]


def trials(only: str = "") -> Iterator[tuple[str, Callable[[], Trial]]]:
    """The models whose names begin with `only`, by name."""
    made: dict[str, Callable[[str], Trial]] = {}
    for kinds, make in (
        (_TEXTS, _text),
        (_IMAGES, _image),
        (_SPEECHES, _speech),
        (_SERIES, _series),
    ):
        for kind, more in kinds.items():
            made[f"transformers/{kind}"] = functools.partial(make, kind, more)
    for name in _timm_names():
        made[f"timm/{name}"] = functools.partial(_timm, name)
    for name, make_trial in made.items():
        if name.startswith(only):
            yield name, functools.partial(make_trial, name)


def _trial(name: str, model: nn.Module, calls: list[tuple[torch.Tensor, ...]]) -> Trial:
    batch = Dim("batch", min=min(_BATCHES), max=max(_BATCHES))
    shapes = ({0: batch},) * len(calls[0])
    if isinstance(model, Named):
        shapes = (shapes,)  # of *inputs
    return Trial(name, model.eval(), {"forward": calls}, {"forward": shapes})


def _of_transformers(kind: str, settings: Mapping[str, Any]) -> nn.Module:
    from transformers import AutoConfig, AutoModel  # takes seconds

    torch.manual_seed(0)
    return AutoModel.from_config(AutoConfig.for_model(kind, **settings))


def _text(kind: str, more: Mapping[str, Any], name: str) -> Trial:
    model = _of_transformers(kind, {**_TEXT, **more, "use_cache": False})
    calls = []
    for batch in _BATCHES:
        mask = torch.ones(batch, 12, dtype=torch.int64)
        mask[0, 7:] = 0
        calls.append((torch.randint(2, 99, (batch, 12)), mask))
    return _trial(name, Named(model, ("input_ids", "attention_mask")), calls)


def _image(kind: str, more: Mapping[str, Any], name: str) -> Trial:
    settings = {**_IMAGE, **more}
    if "hidden_sizes" in more or "embed_dim" in more or "depth_multiplier" in more:
        settings = {"image_size": 32, **more}  # of stages, each of its own sizes
    if kind in ("swin", "swinv2"):
        settings["patch_size"] = 4
    model = _of_transformers(kind, settings)
    calls = [(torch.randn(batch, 3, 32, 32),) for batch in _BATCHES]
    return _trial(name, Named(model, ("pixel_values",)), calls)


def _speech(kind: str, more: Mapping[str, Any], name: str) -> Trial:
    model = _of_transformers(kind, {**_SPEECH, **more})
    calls = [(torch.randn(batch, 800),) for batch in _BATCHES]
    return _trial(name, Named(model, ("input_values",)), calls)


def _series(kind: str, more: Mapping[str, Any], name: str) -> Trial:
    model = _of_transformers(kind, {"num_input_channels": 3, **more})
    calls = [(torch.randn(batch, 32, 3),) for batch in _BATCHES]
    return _trial(name, Named(model, ("past_values",)), calls)


def _timm_names() -> list[str]:
    """timm's models for tests and some of its small ones, where it is installed."""
    if importlib.util.find_spec("timm") is None:
        return []
    timm = _imported_timm()
    return [*sorted(timm.list_models("test_*")), *_OF_TIMM]


def _timm(name: str, title: str) -> Trial:
    timm = _imported_timm()
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False)
    size = model.default_cfg["input_size"]
    return _trial(title, model, [(torch.randn(batch, *size),) for batch in _BATCHES])


@functools.cache
def _imported_timm() -> Any:
    """timm imports torchvision, whose library is built for CUDA: its operators' names suffice."""
    for name in ("nms", "qnms"):
        schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define(f"torchvision::{name}", schema)
    import timm

    return timm


def main() -> None:
    parser = trial_parser(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--packages", type=Path, help="a folder with timm and torchvision")
    options = parser.parse_args()
    if options.packages is not None:
        sys.path.append(str(options.packages.resolve()))
    run_resumable(
        "tests.end_to_end.whole_models",
        lambda: trials(options.only),
        options,
    )


if __name__ == "__main__":
    main()
