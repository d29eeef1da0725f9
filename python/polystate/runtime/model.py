"""Opens artifacts."""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NoReturn, TypeVar

from polystate import _core
from polystate.artifact.manifest import Constant, Manifest, Method
from polystate.artifact.manifest import State as StateSpec
from polystate.errors import ContractError, UnsupportedError
from polystate.runtime.callables import (
    LogitsProcessor,
    Sampler,
    StatefulProcessor,
    StoppingCriterion,
    stream_call,
)
from polystate.runtime.generation import generation_options, ids_of, prompts_of, run_async, warn
from polystate.runtime.generation_output import GenerateOutput, Prompt
from polystate.runtime.paths import checked_path
from polystate.runtime.session import Session
from polystate.runtime.tokenizer import Tokenizer

T = TypeVar("T", _core.Runner, _core.Pipeline)


def load(
    path: str | os.PathLike[str],
    *,
    trust_code: bool = False,
    threads: int | None = None,
    verification: Literal["full", "trusted"] = "full",
    expect_sha256: str | None = None,
) -> Model:
    """Open an artifact.

    Parameters
    ----------
    path
        The artifact's directory.
    trust_code
        Whether an artifact may run machine code of its own, as programs for AOTInductor do, which
        are refused otherwise: it can do whatever this process can.
    threads
        How many threads the engine may use, 1 to 1024. The whole process shares them. Sessions of
        ExecuTorch hold on to them, so that another number is refused while one exists; those of
        AOTInductor have another number from their next calls on. None leaves them as they are: at
        first one a core, for AOTInductor as many as ``OMP_NUM_THREADS`` says if it is set.
    verification
        ``"full"`` hashes every file and runs the bytes that were hashed. ``"trusted"`` compares
        sizes only and maps the files: for artifacts that nobody can write to while they are open.
    expect_sha256
        The SHA-256 that the artifact must have, in lower-case hex: ``Model.sha256``, and what
        ``sha256sum SHA256SUMS`` prints. It pins every file that ``verification`` has hashed.

    Raises
    ------
    ArtifactError
        The artifact is damaged, inconsistent or not the one expected, or has machine code that is
        not trusted.
    ContractError
        An option is out of range.
    EngineError
        Sessions use another number of threads.
    UnsupportedError
        This build or machine cannot run it; or this process was forked from one that had loaded a
        model, whose threads did not come along.
    IoError
        A file cannot be read; or machine code cannot be unpacked into the folder for temporary
        files (``TMPDIR``), or be executed there.
    """
    if verification not in ("full", "trusted"):
        raise ContractError(f"verification is {verification!r}: 'full' or 'trusted' is needed")
    if threads is not None and not is_int64(threads):
        raise ContractError(f"threads is {threads!r}: a number of threads is needed")
    if expect_sha256 is not None and not (
        isinstance(expect_sha256, str) and expect_sha256.isascii()
    ):
        raise ContractError(f"expect_sha256 is {expect_sha256!r}: 64 hex digits are needed")
    name = checked_path(path)
    trusted = verification == "trusted"
    return Model(_core.load(name, bool(trust_code), threads, trusted, expect_sha256), name)


def is_int64(value: object) -> bool:
    """Whether a value is a whole number of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _filling(runner: _core.Runner) -> int:
    """What fills up sequences, as transformers has it."""
    if runner.pad_token_id is not None:
        return runner.pad_token_id
    return runner.eos_token_id[0] if runner.eos_token_id else 0


class Model:
    """A program with its weights: immutable, shared by sessions and threads; made by ``load``."""

    def __init__(self, core: _core.Model, path: str) -> None:
        self._core = core
        self._path = path
        self._lock = threading.Lock()  # of _made
        self._made: dict[type, Any] = {}

    def session(self, *, profile: bool = False, single_threaded: bool = False) -> Session:
        """Make a session with a state of its own, which starts at the initial values.

        Parameters
        ----------
        profile
            Whether to record what every call takes, for ``Session.take_profile``. AOTInductor's
            programs can where they were exported with ``profile=True``.
        single_threaded
            Whether its calls stay on the thread that makes them, whatever the engine has: for
            several sessions that run side by side, each on a thread of its own.
        """
        return Session(self._core.new_session(profile, single_threaded), tuple(self.state))

    def generate(
        self,
        input_ids: Any,
        *,
        attention_mask: Any = None,
        decoder_input_ids: Any = None,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        tokenizer: Tokenizer | None = None,
        on_token: Callable[[int, int], Any] | None = None,
        on_progress: Callable[[int], Any] | None = None,
        keep: bool = False,
        kept: Sequence[_core.KeptSequence | None] = (),
        **names: Any,
    ) -> GenerateOutput:
        """Generate ids from ids, for inputs side by side, also those of other threads' calls.

        Parameters
        ----------
        input_ids
            Ids, or lists of ids, or an array [batch, tokens]: of an encoder-decoder the source, of
            a model without an encoder the prompt, which each sequence begins with.
        attention_mask
            0 where ``input_ids`` are padding. Without it, padding tokens of an array are: at the
            end of a source, at the beginning of a prompt.
        decoder_input_ids
            Of an encoder-decoder: the first tokens of what is generated, for each input; the start
            token without it.
        logits_processor, sampler, stopping_criteria
            The user's own: see :mod:`polystate.runtime.generation`.
        tokenizer
            What ``stop_strings`` are found with; without it, the artifact's own.
        on_token
            Called with the number of an input and each token as it is chosen; False ends that
            input. Of one beam only.
        on_progress
            Called when an input is finished, with how many of all are.
        keep
            Keep what is read of each sequence: ``GenerateOutput.kept``. Of one sequence an input.
        kept
            For each input what was kept of a sequence, or None: what its first tokens have in
            common with that is not read again. Its pages are held as long as the object exists.
        **names
            Fields of transformers' ``GenerationConfig``: ``num_beams=4``; others are as the
            artifact's ``generation_config.json`` says.

        Raises
        ------
        ContractError
            An input is too long or has an unknown token, or an option is unknown or out of range.
        UnsupportedError
            The artifact does not generate, or an option is not implemented.
        """
        warn(self._shared(_core.Runner).warnings)
        options = generation_options(
            names,
            logits_processor,
            sampler,
            stream_call("on_token", on_token),
            on_progress,
            stopping_criteria,
        )
        options.find_tokenizer = lambda: (tokenizer or self._tokenizer)._core
        options.keep = bool(keep)
        options.kept = list(kept)
        return self._generate(input_ids, attention_mask, decoder_input_ids, options)

    async def generate_async(
        self,
        input_ids: Any,
        *,
        attention_mask: Any = None,
        decoder_input_ids: Any = None,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        tokenizer: Tokenizer | None = None,
        keep: bool = False,
        kept: Sequence[_core.KeptSequence | None] = (),
        **names: Any,
    ) -> GenerateOutput:
        """As :meth:`generate`, without blocking the event loop.

        Calls that wait at the same time run side by side. One whose task is cancelled ends.
        """
        warn(self._shared(_core.Runner).warnings)
        options = generation_options(
            names, logits_processor, sampler, None, None, stopping_criteria
        )
        options.find_tokenizer = lambda: (tokenizer or self._tokenizer)._core
        options.keep = bool(keep)
        options.kept = list(kept)
        return await run_async(
            options,
            lambda: self._generate(input_ids, attention_mask, decoder_input_ids, options),
        )

    def _generate(
        self,
        input_ids: Any,
        attention_mask: Any,
        decoder_input_ids: Any,
        options: _core.GenerationOptions,
    ) -> GenerateOutput:
        runner = self._shared(_core.Runner)
        if runner.max_source_length > 0:
            sources = ids_of("input_ids", input_ids, attention_mask, self._source_padding())
            prompts = self._decoder_prompts(decoder_input_ids, len(sources))
        else:
            prompts = self._prompts(runner, input_ids, attention_mask, decoder_input_ids)
            sources = [[] for _ in prompts]
        if options.kept and len(options.kept) != len(prompts):
            raise ContractError(f"kept are {len(options.kept)} and input_ids {len(prompts)}")
        results = runner.generate(sources, [prompt.ids for prompt in prompts], options)
        vocabulary = self.constants["vocabulary_size"]
        assert isinstance(vocabulary, int)  # or the runner was refused
        return GenerateOutput.of(results, prompts, vocabulary, _filling(runner))

    def _source_padding(self) -> int | None:
        padding = self.constants.get("padding_id")
        return padding if isinstance(padding, int) else None

    @staticmethod
    def _decoder_prompts(given: Any, count: int) -> list[Prompt]:
        """What the decoder's sequences begin with: nothing means its start token."""
        if given is None:
            return [Prompt([], []) for _ in range(count)]
        prompts = prompts_of("decoder_input_ids", given)
        if len(prompts) != count:
            raise ContractError(f"decoder_input_ids are {len(prompts)} and input_ids {count}")
        return prompts

    @staticmethod
    def _prompts(
        runner: _core.Runner, input_ids: Any, attention_mask: Any, decoder_input_ids: Any
    ) -> list[Prompt]:
        if decoder_input_ids is not None:
            raise ContractError(
                "decoder_input_ids are for a model with an encoder; here input_ids are the prompt"
            )
        # A padding token that also ends sequences may be a part of the prompt.
        padding = runner.pad_token_id
        padding = None if padding in runner.eos_token_id else padding
        return prompts_of("input_ids", input_ids, attention_mask, padding)

    @property
    def methods(self) -> Mapping[str, Method]:
        """The methods by name, with inputs, outputs and contract; ``str`` of one is a signature."""
        return MappingProxyType({method.name: method for method in self._parsed.methods})

    @property
    def state(self) -> Mapping[str, StateSpec]:
        """What is known of each state before any session: dtype, shape, initial values."""
        return MappingProxyType({state.name: state for state in self._parsed.state})

    @property
    def constants(self) -> Mapping[str, Constant]:
        """The values that the exporter was given for users of the artifact."""
        return MappingProxyType(self._parsed.constants)

    @property
    def sha256(self) -> str:
        """The artifact's SHA-256, that of its ``SHA256SUMS``, in lower-case hex."""
        return self._core.sha256

    @property
    def manifest(self) -> dict[str, Any]:
        """All that the artifact says of itself (docs/artifact.md), as a copy of plain data."""
        manifest: dict[str, Any] = json.loads(self._core.manifest_text)
        return manifest

    @property
    def state_bytes(self) -> int:
        """Bytes of state that one more session will need."""
        return self._core.state_bytes

    @property
    def activation_bytes(self) -> int:
        """Bytes of working memory that one more session will need at most."""
        return self._core.activation_bytes

    def __repr__(self) -> str:
        return f"<polystate model '{self._path}': {', '.join(self.methods)}>"

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            f"a Model cannot be pickled or copied: load '{self._path}' in the other process"
        )

    def _shared(self, kind: type[T]) -> T:
        """The model's one runner or pipeline, which all calls share; made when first needed."""
        _core.check_process()
        with self._lock:
            if kind not in self._made:
                self._made[kind] = kind(self._core)
            made: T = self._made[kind]
            return made

    @functools.cached_property
    def _tokenizer(self) -> Tokenizer:
        """The artifact's own, of the files that it lists."""
        templates = _core.model_chat_templates(self._core)
        return Tokenizer(_core.model_tokenizer(self._core), self._path, templates)

    @functools.cached_property
    def _parsed(self) -> Manifest:
        return Manifest.from_json(self.manifest)
