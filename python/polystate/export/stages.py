"""What the stages of an export found out about a method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from polystate.artifact.manifest import Manifest, Method, StateWrite
from polystate.export.program import Program
from polystate.export.report import contract_lines, verified_lines

# In their order. What is checked before the trace is "arguments".
STAGES = (
    "arguments",
    "trace",
    "state",
    "contract",
    "lowering",
    "operators",
    "memory",
    "verification",
)

# How each step that an export tells of begins.
_STEPS = {
    "trace": "tracing",
    "state": "finding state",
    "contract": "making the contract",
    "lowering": "lowering",
    "verification": "running",
}

# Pages of problems that another stage finds than the one that they are of.
_OF_PAGES = {
    "attribute_that_changes": "state",
    "buffer_data": "state",
    "buffer_registered_late": "state",
    "buffer_that_grows": "state",
    "buffers_that_exchange_names": "state",
    "buffers_that_share_memory": "state",
    "dictionary_that_changes": "state",
    "dimension_without_maximum": "memory",
    "expanded_buffer": "state",
    "list_that_grows": "state",
    "operator_without_kernel": "operators",
    "parameter_that_changes": "state",
    "state_in_a_global": "state",
    "unbounded_size": "memory",
}

Verdict = Literal["works", "works with", "fails", "not reached"]


@dataclass(frozen=True)
class Stage:
    """What became of a method at a stage.

    Attributes
    ----------
    verdict
        "works with" where there are notes.
    facts
        What it found, in words, one each.
    notes
        Those of the facts that the user is to know.
    seconds
        How long it took; None where that is not known of this method by itself.
    """

    name: str
    verdict: Verdict
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float | None = None


def stage_of(step: str, example: str | None) -> str:
    """The stage of a problem that was found in a step of an export."""
    if example in _OF_PAGES:
        return _OF_PAGES[example]
    return step_stage(step)


def step_stage(step: str) -> str:
    """The stage that a step of an export belongs to."""
    stages = (stage for stage, words in _STEPS.items() if step.startswith(words))
    return next(stages, "arguments")


def stages_until(stage: str, message: str, seconds: Mapping[str, float]) -> tuple[Stage, ...]:
    """The stages of a method that fails at one of them."""
    place = STAGES.index(stage)
    done = [Stage(name, "works", seconds=seconds.get(name)) for name in STAGES[:place]]
    facts = (message.partition("\n")[0],)
    failed = Stage(stage, "fails", facts, seconds=seconds.get(stage))
    return (*done, failed, *(Stage(name, "not reached") for name in STAGES[place + 1 :]))


def stages_of(program: Program, name: str, seconds: Mapping[str, float]) -> tuple[Stage, ...]:
    """The stages of a method that was exported."""
    method, manifest = program.methods[name], program.manifest
    found = {
        "arguments": _Facts(),
        "trace": _trace(program.how(name)),
        "state": _Facts(tuple(_state(manifest, method))),
        "contract": _Facts(tuple(contract_lines(method))),
        "lowering": _lowering(manifest, method),
        "operators": _Facts((_operators(manifest),)),
        "memory": _Facts(tuple(_memory(method))),
        "verification": _verification(program, name),
    }
    return tuple(
        Stage(
            stage,
            "works with" if facts.notes else "works",
            facts.told + facts.notes,
            facts.notes,
            seconds.get(stage),
        )
        for stage, facts in found.items()
    )


@dataclass(frozen=True)
class _Facts:
    told: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _trace(how: str) -> _Facts:
    parts = how.split("; ")
    notes = [part for part in parts if part.startswith("fixed at the export")]
    return _Facts(tuple(part for part in parts if part not in notes), tuple(notes))


def _state(manifest: Manifest, method: Method) -> list[str]:
    reads = [f"reads '{manifest.state[read].name}'" for read in method.reads]
    writes = [f"writes '{manifest.state[write.state].name}'" for write in method.writes]
    return reads + writes


def _lowering(manifest: Manifest, method: Method) -> _Facts:
    told = [_update(manifest, write) for write in method.writes]
    if manifest.program.delegates:
        told.append(f"delegates to {', '.join(sorted(set(manifest.program.delegates)))}")
    if method.atomic:
        return _Facts(tuple(told))
    note = "not atomic: a failure inside the engine leaves the state half updated"
    return _Facts(tuple(told), (note,))


def _update(manifest: Manifest, write: StateWrite) -> str:
    name, how = manifest.state[write.state].name, write.update.replace("_", " ")
    return f"'{name}' is updated {how}: {write.reason}"


def _operators(manifest: Manifest) -> str:
    operators = manifest.program.operators
    if not operators:
        return "no kernel of the runtime is called"
    return f"the runtime has a kernel of each: {', '.join(sorted(operators))}"


def _memory(method: Method) -> list[str]:
    return [f"{method.activation_bytes} bytes for intermediate results, at the largest sizes"]


def _verification(program: Program, name: str) -> _Facts:
    if program.verification is None:
        return _Facts()
    first, *others = verified_lines(program.verification.tallies[name])
    return _Facts((first,), tuple(line.strip() for line in others))
