"""Times another engine's generation of a workload, as bench_translation does polystate's.

python peers.py ENGINE MODEL WORKLOAD

ENGINE is ``ctranslate2_int8``, ``ctranslate2_float32``, ``transformers``, ``torch_compile`` or
``executorch_int8``, which takes no texts and no beams; MODEL a folder of make_models.py.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Workload = dict[str, Any]
Pass = Callable[[], Any]

# Sentences of one call or batch, sorted by length, as every engine's documentation advises.
BATCH = 32


def ctranslate2(compute_type: str) -> Callable[[Path, Workload], Pass]:
    def opened(model: Path, workload: Workload) -> Pass:
        import ctranslate2
        from sentencepiece import SentencePieceProcessor

        # A file is faster with batches side by side than with all threads on each.
        threads, has_batches = workload["threads"], "lines" in workload
        translator = ctranslate2.Translator(
            str(model / f"ctranslate2_{compute_type}"),
            compute_type=compute_type,
            inter_threads=threads if has_batches else 1,
            intra_threads=1 if has_batches else threads,
        )
        options: dict[str, Any] = {"beam_size": workload["beams"], "max_batch_size": BATCH}
        if "sources" in workload:
            length = workload["target"]
            names = {i: token for token, i in vocabulary(model).items()}
            sources = [[names[i] for i in source] for source in workload["sources"]]
            options |= {"min_decoding_length": length, "max_decoding_length": length}

            def generate() -> Any:
                return translator.translate_batch(sources, **options)

            return generate

        source, target = (
            SentencePieceProcessor(model_file=str(model / "transformers" / f"{side}.spm"))
            for side in ("source", "target")
        )

        def translate() -> list[str]:
            pieces = source.encode(workload["lines"], out_type=str)
            results = translator.translate_batch([[*each, "</s>"] for each in pieces], **options)
            texts: list[str] = target.decode([result.hypotheses[0] for result in results])
            return texts

        return translate

    return opened


def vocabulary(model: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((model / "transformers/vocab.json").read_text())
    return found


def transformers(*, compiled: bool) -> Callable[[Path, Workload], Pass]:
    def opened(folder: Path, workload: Workload) -> Pass:
        import torch
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        torch.set_num_threads(workload["threads"])
        torch.set_grad_enabled(False)
        model = AutoModelForSeq2SeqLM.from_pretrained(folder / "transformers")
        options: dict[str, Any] = {"num_beams": workload["beams"]}
        if compiled:
            options |= {"cache_implementation": "static"}
            model.forward = torch.compile(model.forward, dynamic=False)
        if "sources" in workload:
            ids = torch.tensor(workload["sources"])
            length = workload["target"]
            options |= {"min_new_tokens": length, "max_new_tokens": length}
            return lambda: model.generate(ids, attention_mask=torch.ones_like(ids), **options)

        tokenizer = AutoTokenizer.from_pretrained(folder / "transformers")
        lines = workload["lines"]
        order = sorted(range(len(lines)), key=lambda i: len(lines[i]))

        def translate() -> dict[int, str]:
            texts = {}
            for first in range(0, len(order), BATCH):
                chosen = order[first : first + BATCH]
                batch = tokenizer([lines[i] for i in chosen], return_tensors="pt", padding=True)
                found = tokenizer.batch_decode(
                    model.generate(**batch, **options), skip_special_tokens=True
                )
                texts |= dict(zip(chosen, found, strict=True))
            return texts

        return translate

    return opened


def executorch(folder: Path, workload: Workload) -> Pass:
    """The program of transformers' export, run as its guide does: greedy, over a static cache."""
    import torch
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime

    portable_lib._unsafe_reset_threadpool(workload["threads"])
    torch.set_num_threads(workload["threads"])
    ids = torch.tensor(workload["sources"])
    program = Runtime.get().load_program(folder / "executorch_int8" / f"batch_{len(ids)}.pte")
    encoder, decoder = (program.load_method(name) for name in ("encoder", "decoder"))
    config = json.loads((folder / "transformers/config.json").read_text())
    start = torch.full((len(ids), 1), config["decoder_start_token_id"])

    def generate() -> list[Any]:
        (encoded,) = encoder.execute([ids])
        tokens = [start]
        for position in range(workload["target"]):
            (logits,) = decoder.execute([tokens[-1], encoded, torch.tensor([position])])
            tokens.append(logits[:, -1].argmax(-1, keepdim=True))
        return tokens

    return generate


# What an engine is imported from.
MODULES = {
    "ctranslate2_int8": ("ctranslate2", "sentencepiece"),
    "ctranslate2_float32": ("ctranslate2", "sentencepiece"),
    "transformers": ("torch", "transformers", "transformers.models.auto.modeling_auto"),
    "torch_compile": ("torch", "transformers", "transformers.models.auto.modeling_auto"),
    "executorch_int8": (
        "torch",
        "executorch.extension.pybindings.portable_lib",
        "executorch.runtime",
    ),
}

ENGINES = {
    "ctranslate2_int8": ctranslate2("int8"),
    "ctranslate2_float32": ctranslate2("float32"),
    "transformers": transformers(compiled=False),
    "torch_compile": transformers(compiled=True),
    "executorch_int8": executorch,
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def resident_bytes() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in status if line.startswith("VmRSS:"))
    return 1024 * int(line.split()[1])


def main() -> None:
    engine, model, path = sys.argv[1:]
    workload = json.loads(Path(path).read_text())
    for module in MODULES[engine]:  # a library's import is not a model's opening
        importlib.import_module(module)
    opening, generate = timed(lambda: ENGINES[engine](Path(model), workload))
    generate()  # the first pass warms up
    seconds = [timed(generate)[0] for _ in range(workload["passes"])]
    print(
        json.dumps(
            {
                "open": opening,
                "seconds": seconds,
                "resident": resident_bytes(),
                "resident_at_most": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            }
        )
    )


if __name__ == "__main__":
    main()
