"""Times a library's own tokenizer on one thread, as bench_tokenizer does ours.

python tokenizer_peer.py PATH TEXT [PATTERN]
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ["TOKENIZERS_PARALLELISM"] = "false"

PASSES = 5


class Peer(NamedTuple):
    """What encodes all lines in one call, makes ids of that (untimed), and decodes those."""

    encode: Callable[[Sequence[str]], Any]
    decode: Callable[[Any], Any]
    ids: Callable[[Any], Any] = lambda encoded: encoded


def tokenizers(path: Path) -> Peer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    return Peer(
        tokenizer.encode_batch_fast,
        tokenizer.decode_batch,
        lambda encodings: [encoding.ids for encoding in encodings],
    )


def sentencepiece(path: Path) -> Peer:
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(path))
    return Peer(
        lambda lines: processor.encode(lines, num_threads=1),
        lambda ids: processor.decode(ids, num_threads=1),
    )


def tiktoken(path: Path, pattern: str) -> Peer:
    from tiktoken import Encoding
    from tiktoken.load import load_tiktoken_bpe

    encoding = Encoding(
        "", pat_str=pattern, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens={}
    )
    return Peer(
        lambda lines: [encoding.encode_ordinary(line) for line in lines],
        lambda batch: [encoding.decode(ids) for ids in batch],
    )


def opened(path: Path, pattern: str | None) -> Peer:
    if path.suffix == ".json":
        return tokenizers(path)
    return tiktoken(path, pattern) if pattern else sentencepiece(path)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> None:
    path, text, *pattern = sys.argv[1:]
    # As bench_tokenizer divides them: other characters that end lines are parts of a line.
    lines = Path(text).read_bytes().decode().removesuffix("\n").split("\n")
    # The library's import is not the file's opening.
    __import__(
        {".json": "tokenizers", ".model": "sentencepiece"}.get(Path(path).suffix, "tiktoken")
    )
    opening, peer = timed(lambda: opened(Path(path), pattern[0] if pattern else None))
    encode, decode = [], []
    for _ in range(PASSES):
        seconds, encoded = timed(lambda: peer.encode(lines))
        encode.append(seconds)
        ids = peer.ids(encoded)
        decode.append(timed(lambda ids=ids: peer.decode(ids))[0])
    print(json.dumps({"open": opening, "encode": encode, "decode": decode}))


if __name__ == "__main__":
    main()
