"""Calls each stage of an artifact's methods, and compares what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from polystate.artifact import Manifest, manifest
from polystate.export.comparing.differences import difference_of
from polystate.export.comparing.found import STAGES, Comparison, Row
from polystate.export.comparing.losses import Loss, losses
from polystate.export.comparing.runs import EagerRun, GraphRun, run_eagerly, run_graph
from polystate.export.comparing.stages import Stages, result_nodes
from polystate.export.comparing.values import ModuleCall, Value, value_of
from polystate.export.state import StateBuffer, dtype_name
from polystate.export.tracing.eager import EagerModule
from polystate.export.tracing.traced import Traced
from polystate.export.verification.dispatch import under
from polystate.export.verification.outcomes import tensors
from polystate.export.verification.program_process import ProgramProcess
from polystate.export.verification.rounding import Rounding
from polystate.export.verification.tolerances import Tolerance, tolerances
from polystate.export.verification.verify import tolerance_of

# How often a graph runs with other roundings where a value is beyond the tolerance.
_ROUNDINGS = 16


@dataclass(frozen=True)
class Calls:
    """The stages of an artifact's methods, called side by side.

    Attributes
    ----------
    traced
        By method.
    own, finished
        The artifact itself, and what was made again with the values between layers as results.
    floats
        What methods did before they were quantized.
    """

    eager: EagerModule
    traced: Mapping[str, Traced]
    state: Sequence[StateBuffer]
    described: Manifest
    stages: Stages
    own: ProgramProcess
    finished: ProgramProcess
    floats: Mapping[str, EagerRun]

    def compared(self, order: Sequence[str]) -> Comparison:
        """Calls each method once, in a row."""
        rows: list[Row] = list(self._initial_rows())
        lost: list[Loss] = []
        with self.eager.restored():
            for name in order:
                call = self._called(self.traced[name])
                rows += call.rows()
                if name in self.floats:
                    lost += call.losses(self.floats[name])
        program = self.described.program
        return Comparison(
            program.backend,
            program.quantization,
            dict(self.described.versions),
            tuple(rows),
            tuple(sorted(lost, key=lambda loss: -loss.alone)),
            tuple(self.stages.notes),
        )

    def _initial_rows(self) -> Iterator[Row]:
        """States that the artifact begins with other values of than the model has."""
        for name, value in self.own.state().items():
            expected = self.eager.initial(name)
            difference = difference_of(value, expected, (0.0, 0.0), lambda: ())
            if difference.beyond:
                what = f"state '{name}' before the first call"
                own = {"finished": difference}
                yield Row("", what, "", "", "", "", "eager", (0.0, 0.0), own)

    def _called(self, traced: Traced) -> _Call:
        eager, args, kwargs = self.eager, traced.args, traced.kwargs
        buffers = eager.buffers()
        before = {state.name: buffers[state.name] for state in self.state}
        inputs = tensors((args, kwargs))
        for program in (self.own, self.finished):
            program.set_state(before)
        own_outputs, own_inputs = self.own.run(traced.name, inputs)
        outputs, _ = self.finished.run(traced.name, inputs)
        return _Call(
            traced,
            next(m for m in self.described.methods if m.name == traced.name),
            self.stages.values[traced.name],
            tolerance_of(self.described),
            self.described.program.quantization,
            before,
            run_eagerly(eager, traced.function, args, kwargs),
            run_graph(traced.functional, args, kwargs, before),
            run_graph(self.stages.lowered[traced.name], args, kwargs, before),
            outputs,
            (own_outputs, own_inputs, dict(self.own.state())),
        )


@dataclass(frozen=True)
class _Call:
    """What all stages did in one call."""

    traced: Traced
    method: manifest.Method
    values: Sequence[Value]
    tolerance: Tolerance
    quantization: str | None
    before: Mapping[str, torch.Tensor]
    eager: EagerRun
    exported: GraphRun
    lowered: GraphRun
    finished: Sequence[torch.Tensor]  # results, then values
    own: tuple[Sequence[torch.Tensor], Sequence[torch.Tensor], Mapping[str, torch.Tensor]]
    # Values that rounding does not explain. What is beyond the tolerance after the first of them
    # is not asked whether it does: most follow from that, and the answer takes many runs.
    parted: list[str] = field(default_factory=list)

    def rows(self) -> list[Row]:
        """All values in the order in which they are computed."""
        places = {node.name: i for i, node in enumerate(self.traced.functional.graph.nodes)}
        rows = [*self._layer_rows(), *self._output_rows(), *self._state_rows(), *self._input_rows()]
        return sorted(rows, key=lambda row: places.get(row.node, len(places)))

    def losses(self, floats: EagerRun) -> list[Loss]:
        """What quantized layers lose."""
        reached: dict[ModuleCall, torch.Tensor] = {
            call: layer.result
            for call, layer in self.eager.layers.items()
            if isinstance(layer.result, torch.Tensor)
        }
        lines: dict[ModuleCall, str] = {}
        for value, found in zip(self.values, self._last(self.finished), strict=True):
            reached |= dict.fromkeys(value.returned_by, found)
            lines |= dict.fromkeys(value.returned_by, value.line)
        return losses(self.traced.name, floats.layers, reached, lines)

    def _last(self, results: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The values between layers, of all results."""
        return results[len(results) - len(self.values) :]

    def _layer_rows(self) -> Iterator[Row]:
        lowered, finished = self._last(self.lowered.results), self._last(self.finished)
        for i, value in enumerate(self.values):
            exported = self.exported.values[value.node]
            expected = self.eager.result_of(value.returned_by, exported)
            found = {"exported": exported, "lowered": lowered[i], "finished": finished[i]}
            if expected is None:
                del found["exported"]

            def pick(run: GraphRun, node: str = value.node) -> torch.Tensor:
                return run.values[node]

            reference = "exported" if expected is None else "eager"
            expected = exported if expected is None else expected
            yield self._row("layer", value, reference, expected, found, pick)

    def _output_rows(self) -> Iterator[Row]:
        outputs, _, _ = self.own
        count = len(self.method.outputs)
        end = len(self.lowered.results) - len(self.values)
        lowered = self.lowered.results[end - count : end]
        nodes = result_nodes(self.traced.functional)
        for i, expected in enumerate(tensors(self.eager.outcome.outputs)):
            found = {
                "exported": self.exported.results[i],
                "lowered": lowered[i],
                "finished": outputs[i],
            }

            def pick(run: GraphRun, number: int = i) -> torch.Tensor:
                return run.results[number]

            what = f"output {self.method.outputs[i].name}"
            yield self._row(what, value_of(nodes[i]), "eager", expected, found, pick)

    def _state_rows(self) -> Iterator[Row]:
        _, _, states = self.own
        by_name = {node.name: node for node in self.traced.functional.graph.nodes}
        changed = self.traced.functional.graph_signature.buffers_to_mutate
        nodes = {name: by_name[node] for node, name in changed.items()}
        for name, own in states.items():
            expected = self.eager.outcome.buffers[name]
            found = {"finished": own}
            for stage, run in (("exported", self.exported), ("lowered", self.lowered)):
                if name in run.state:
                    found[stage] = run.state[name]

            def pick(run: GraphRun, name: str = name) -> torch.Tensor:
                return run.state.get(name, self.before[name])

            value = value_of(nodes[name]) if name in nodes else Value("", "", "", "", ())
            row = self._row(f"state '{name}'", value, "eager", expected, found, pick)
            if name in nodes or row.beyond:
                yield row

    def _input_rows(self) -> Iterator[Row]:
        _, inputs, _ = self.own
        expected = tensors(self.eager.outcome.inputs)
        for i, described in enumerate(self.method.inputs):
            if described.written_from is not None:
                what = f"input '{described.name}'"
                found = {"finished": inputs[i]}
                value = Value("", "", "", "", ())
                yield self._row(what, value, "eager", expected[i], found, None)

    def _row(
        self,
        what: str,
        value: Value,
        reference: str,
        expected: torch.Tensor,
        found: Mapping[str, torch.Tensor],
        pick: Callable[[GraphRun], torch.Tensor] | None,
    ) -> Row:
        tolerance = self.tolerance
        if self.quantization is None and expected.dtype in (torch.float16, torch.bfloat16):
            tolerance = tolerances({dtype_name(expected.dtype)}, None)

        def rounded() -> Iterable[torch.Tensor]:
            if pick is None or self.parted:
                return ()
            return map(pick, self._otherwise_rounded())

        stages = {
            stage: difference_of(found[stage], expected, tolerance, rounded)
            for stage in STAGES
            if stage in found
        }
        if any(difference.beyond for difference in stages.values()):
            self.parted.append(what)
        return Row(
            self.traced.name,
            what,
            value.layer,
            value.kind,
            value.node,
            value.line,
            reference,
            tolerance,
            stages,
        )

    def _otherwise_rounded(self) -> Iterator[GraphRun]:
        traced = self.traced
        for seed in range(_ROUNDINGS):
            run = under(Rounding(seed, is_drawn=False), run_graph)
            yield run(traced.functional, traced.args, traced.kwargs, self.before)
