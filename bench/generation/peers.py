"""Times another engine's continuation of prompts, as bench_generation does polystate's.

python peers.py ENGINE MODEL WORKLOAD

ENGINE is ``llama_cpp_q8_0``, ``openvino_int8`` or ``transformers``; MODEL a folder of
make_models.py.
"""

from __future__ import annotations

import importlib
import itertools
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workloads import LONGEST

# Tokens that follow a prompt, one after another.
Continue = Callable[[list[int], int], Iterator[Any]]


def llama_cpp(model: Path, threads: int) -> Continue:
    from llama_cpp import Llama

    llama = Llama(
        str(model / "q8_0.gguf"),
        n_ctx=LONGEST,
        n_batch=LONGEST,
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )

    def continued(prompt: list[int], count: int) -> Iterator[int]:
        return itertools.islice(llama.generate(prompt, temp=0.0), count)

    return continued


def openvino(model: Path, threads: int) -> Continue:
    import numpy as np
    from openvino import Core

    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    request = Core().compile_model(model / "openvino_int8.xml", "CPU", settings)
    request = request.create_infer_request()

    def continued(prompt: list[int], count: int) -> Iterator[int]:
        request.reset_state()
        ids = np.array([prompt])
        for first in itertools.islice(itertools.count(), count):
            position = 0 if first == 0 else len(prompt) + first - 1
            positions = position + np.arange(ids.shape[1])[None]
            request.infer({"ids": ids, "positions": positions, "rows": np.zeros(1, np.int64)})
            ids = request.get_output_tensor(0).data[:, -1:].argmax(-1)
            yield int(ids[0, 0])

    return continued


def transformers(model: Path, threads: int) -> Continue:
    import torch
    from transformers import AutoModelForCausalLM, DynamicCache

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    given = {"gguf_file": "model.gguf"} if (model / "model.gguf").exists() else {}
    folder = model if given else model / "transformers"
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **given)

    def continued(prompt: list[int], count: int) -> Iterator[torch.Tensor]:
        cache, ids = DynamicCache(config=loaded.config), torch.tensor([prompt])
        for _ in range(count):
            logits = loaded(ids, past_key_values=cache, logits_to_keep=1).logits
            ids = logits[:, -1:].argmax(-1)
            yield ids

    return continued


# What an engine is imported from.
MODULES = {
    "llama_cpp_q8_0": ("llama_cpp",),
    "openvino_int8": ("numpy", "openvino"),
    "transformers": ("torch", "transformers", "transformers.models.auto.modeling_auto"),
}

ENGINES = {
    "llama_cpp_q8_0": llama_cpp,
    "openvino_int8": openvino,
    "transformers": transformers,
}


def times(tokens: Iterator[Any]) -> tuple[float, float]:
    """Seconds until the first token, and from there until the last."""
    start = time.perf_counter()
    next(tokens)
    first = time.perf_counter()
    for _ in tokens:
        pass
    return first - start, time.perf_counter() - first


def main() -> None:
    engine, model, path = sys.argv[1:]
    workload = json.loads(Path(path).read_text())
    for module in MODULES[engine]:  # a library's import is not a model's opening
        importlib.import_module(module)
    start = time.perf_counter()
    continued = ENGINES[engine](Path(model), workload["threads"])
    opening = time.perf_counter() - start
    warm, *measured = (times(continued(p, workload["new_tokens"])) for p in workload["prompts"])
    print(
        json.dumps(
            {
                "open": opening,
                "first_token": opening + warm[0],
                "prefill": [prefill for prefill, _ in measured],
                "decode": [decode for _, decode in measured],
                "resident_at_most": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            }
        )
    )


if __name__ == "__main__":
    main()
