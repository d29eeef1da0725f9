"""`export`: a module with several entry points, as one program with one state."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.export import ExportedProgram

from polystate.artifact import FileContent, write_artifact
from polystate.artifact.manifest import Constant, Manifest, State
from polystate.artifact.manifest import Method as DescribedMethod
from polystate.errors import ContractError, UnsupportedError
from polystate.export.arguments import check_arguments, checked_constants
from polystate.export.bundle import write_bundled
from polystate.export.contract.contract import (
    MethodContract,
    declared_sizes,
    method_contract,
    with_complex,
)
from polystate.export.contract.trial import Trial
from polystate.export.debug import DebugFolder
from polystate.export.describe import Findings, describe
from polystate.export.diagnosis.refusals import told_plainly
from polystate.export.graph.grown_state import grow_state
from polystate.export.graph.sizes import without_new_guards
from polystate.export.graph.writers import writes_early
from polystate.export.lowering.inductor import compile_methods
from polystate.export.lowering.kernels import without_kernel
from polystate.export.lowering.lower import lower
from polystate.export.lowering.passes import Pass, Passes
from polystate.export.lowering.planned_graph import Part
from polystate.export.method import Method
from polystate.export.report import contract_lines, report
from polystate.export.state import StateBuffer, find_state, grown
from polystate.export.surroundings import alone, surroundings
from polystate.export.tracing import observers
from polystate.export.tracing.eager import EagerModule
from polystate.export.tracing.plain_tensors import refuse_unusual_weights
from polystate.export.tracing.replay import is_right
from polystate.export.tracing.trace import trace
from polystate.export.tracing.traced import Traced
from polystate.export.verification.draws import Draws
from polystate.export.verification.verify import Finished, Verification, open_only, verify
from polystate.steps import begin


@dataclass(frozen=True)
class Program:
    """An exported program, ready to be saved.

    Attributes
    ----------
    manifest
        What the artifact will say of itself, as data; file sizes are filled in when it is saved.
    verification
        How the program was shown to do what the module does; None where passes of the user's
        change what it computes.
    """

    manifest: Manifest
    _files: Mapping[str, bytes | FileContent]
    _how: Mapping[str, str]
    verification: Verification | None = None
    _parts: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)

    @property
    def methods(self) -> dict[str, DescribedMethod]:
        """The entry points by name: inputs, outputs, contract, how state is updated."""
        return {method.name: method for method in self.manifest.methods}

    @property
    def state(self) -> dict[str, State]:
        """The buffers that some method changes, by fully qualified name."""
        return {state.name: state for state in self.manifest.state}

    @property
    def contract(self) -> dict[str, list[str]]:
        """What each method's caller must keep to, in words."""
        return {name: contract_lines(method) for name, method in self.methods.items()}

    def how(self, name: str) -> str:
        """By which attempt a method was traced, and what of its examples is fixed."""
        return self._how[name]

    def parts(self, name: str) -> tuple[Part, ...]:
        """The graph of a method as it runs, in its order; empty but in explanations."""
        return self._parts.get(name, ())

    def report(self) -> str:
        """Methods, contract, state and how it is updated and why, for people."""
        return report(self.manifest, self._how, self.verification)

    def with_files(self, files: Mapping[str, bytes]) -> Program:
        """The program with more files in its artifact, such as a tokenizer's, by their names."""
        return dataclasses.replace(self, _files={**self._files, **files})

    def with_drawn_calls(self, other: Program, part: str) -> Program:
        """The program with the drawn calls of another one, of a part of its module.

        Parameters
        ----------
        part
            Which part that is, in words, for the report.
        """
        if self.verification is None or other.verification is None:
            return self
        verification = self.verification.with_drawn_calls(other.verification, part)
        return dataclasses.replace(self, verification=verification)

    def save(self, out: str | os.PathLike[str]) -> Path:
        """Writes the artifact: a directory that appears as a whole or not at all.

        Raises
        ------
        ArtifactError
            When something other than an artifact stands there.
        IoError
            When it cannot be written.
        """
        path = Path(out)
        write_artifact(path, self.manifest, self._files)
        return path

    def save_bundled(self, file: str | os.PathLike[str]) -> Path:
        """Writes a bundled program (`.bpte`): one file for ExecuTorch's own runtime and tools.

        It has the program, and recorded calls with what they give, with which that runtime compares
        its own results. Each method has its own state there.

        Raises
        ------
        UnsupportedError
            When ExecuTorch's own runtime cannot run the program: it is AOTInductor's, or has
            operators that are polystate's own.
        IoError
            When it cannot be written.
        """
        path = Path(file)
        calls = () if self.verification is None else self.verification.recorded_calls
        write_bundled(path, self.manifest, self._files[self.manifest.program.file], calls)
        return path


def export(
    model: torch.nn.Module,
    methods: Mapping[str, Method],
    *,
    backend: str = "xnnpack",
    quantization: str | None = None,
    target: str | None = None,
    profile: bool = False,
    constants: Mapping[str, Constant] | None = None,
    passes_before_lowering: Sequence[Pass] = (),
    passes_after_lowering: Sequence[Pass] = (),
    debug_dir: str | os.PathLike[str] | None = None,
    draws: Draws | None = None,
    pages: Mapping[str, int] | None = None,
) -> Program:
    """Exports the methods of a module into one program with shared weights and state.

    Every buffer that some method changes is state of all methods; it starts with the value that it
    has now. All other tensors are constants. The module is as it was when this returns.

    Exports of several threads wait for one another. Meanwhile the module itself changes, and so do
    functions of PyTorch and the hooks of all modules: no other thread should call a module then.

    Parameters
    ----------
    model
        Owner of weights and state, in the mode (usually ``eval()``) in which it is to run.
    methods
        The entry points, by the names that they get.
    backend
        ``"xnnpack"`` (fast on CPUs) or ``"portable"`` (without XNNPACK's kernels), for ExecuTorch;
        ``"aoti"``, machine code for AOTInductor, which needs libtorch where it runs.
    quantization
        None, ``"q8"`` or ``"q8_0"``: linears with int8 weights and activations, by operators of our
        own, with one scale for each output channel and row, or for each 32 values of them; an
        embedding that shares its weight with one reads it there.
    target
        For ``"aoti"``: the processors that it is compiled for, as compilers name them
        (``"x86-64-v3"``), of which this one must be; None: those that have all that this one has.
    profile
        For ``"aoti"``: whether sessions can record what each of its kernels takes, which costs each
        kernel some 0.5 microseconds in every session. Programs for ExecuTorch always can.
    constants
        Values that C++ and Python can read from the artifact.
    passes_before_lowering, passes_after_lowering
        Graph passes of your own: callables that take a ``torch.fx.GraphModule`` and change it in
        place, or return it or a ``PassResult``; on the functional aten graph of each method, and on
        its edge graph after delegation, which ``"aoti"`` does not have. The module is then no
        reference for the program: nothing is compared with it, and no calls are recorded.
    debug_dir
        Where the graphs between the stages, the memory plan and each method's ETRecord are kept.
    draws
        The seed and the number of the calls with drawn values that the program is compared with the
        module on; None: seed 0, and as many as fit into a tenth of the export or two seconds.
    pages
        For pools of pages that are zero, and that operators over pages alone use: how many pages
        the program has, by the buffer's name. The module's may be fewer, with which it is shown
        what the program does; ``draw`` of the methods then draws pages that the module has.

    Raises
    ------
    ExportError
        When a method cannot be exported soundly; the message names the user's line and a rewrite.
    UnsupportedError
        When the backend cannot do what is asked.
    ContractError
        When an argument is not of the form above.
    IoError
        When `debug_dir` cannot be written.
    """
    if draws is not None and not isinstance(draws, Draws):
        raise ContractError(f"draws is a {type(draws).__name__}, not a polystate.Draws")
    options = _Options(
        backend=backend,
        quantization=quantization,
        target=target,
        profile=profile,
        constants=dict(constants or {}),
        passes=Passes(passes_before_lowering, passes_after_lowering),
        debug_dir=None if debug_dir is None else Path(debug_dir),
        draws=draws or Draws(),
        pages=dict(pages or {}),
    )
    with told_plainly(model, methods):
        return _exported(model, methods, options)


@dataclass(frozen=True)
class _Options:
    """What `export` is told beside the methods."""

    backend: str
    quantization: str | None
    target: str | None
    profile: bool
    constants: dict[str, Constant]
    passes: Passes
    debug_dir: Path | None
    draws: Draws
    pages: dict[str, int]


@dataclass(frozen=True)
class Prepared:
    """A module's methods, ready to be lowered.

    Attributes
    ----------
    traced, contracts
        In the user's order, as many.
    state
        What the methods change, in the module's order.
    """

    eager: EagerModule
    traced: Sequence[Traced]
    contracts: Sequence[MethodContract]
    state: Sequence[StateBuffer]

    @property
    def programs(self) -> dict[str, ExportedProgram]:
        """The functional programs, with the checks of their contracts, by name."""
        return {each.name: each.functional for each in self.traced}


def prepare(
    model: torch.nn.Module,
    methods: Mapping[str, Method],
    backend: str,
    pages: Mapping[str, int],
    *,
    at_corners: bool,
) -> Prepared:
    """Traces methods within `surroundings`, and finds their state and contracts.

    Parameters
    ----------
    at_corners
        Whether graphs are compared with the module at the corners of the ranges, too.

    Raises
    ------
    ExportError, UnsupportedError, ContractError
        As ``export``.
    """
    eager = EagerModule(model)
    traced = []
    for name, method in methods.items():
        begin(f"tracing '{name}', and comparing the graph with the module")
        traced.append(trace(eager, name, method, at_corners=at_corners))
    begin("finding state")
    for each in traced:
        grow_state(each.functional, pages)
    found_state = find_state(eager, [(t.name, t.functional) for t in traced])
    observers.refuse_changed_switches(model, {state.name for state in found_state})
    state = grown(found_state, pages)
    begin("making the contract")
    with without_new_guards():
        contracts = [_contract(eager, t, backend) for t in traced]
    return Prepared(eager, traced, contracts, state)


def _exported(model: torch.nn.Module, methods: Mapping[str, Method], options: _Options) -> Program:
    started = time.monotonic()
    backend, quantization, draws = options.backend, options.quantization, options.draws
    check_arguments(model, methods, backend)
    if options.target is not None and backend != "aoti":
        raise ContractError(
            f"target is {options.target!r}; backend {backend!r} has no code that is for a processor"
        )
    constants = checked_constants(options.constants)
    with alone():  # another thread's export may just be changing the module's registries
        refuse_unusual_weights(model)
    passes = options.passes
    debug = None if options.debug_dir is None else DebugFolder.create(options.debug_dir)
    with surroundings(model, quantization):
        prepared = prepare(model, methods, backend, options.pages, at_corners=draws.at_corners)
        eager, traced, state = prepared.eager, prepared.traced, prepared.state
        programs = prepared.programs
        begin(f"lowering for {backend}")
        if backend == "aoti":
            lowered = compile_methods(
                programs,
                state,
                passes,
                options.target,
                profile=options.profile,
                keep_graphs=debug is not None,
            )
        else:
            lowered = lower(programs, state, backend, passes, keep_record=debug is not None)
        if debug is not None:
            debug.write(lowered)
        found = Findings(traced, prepared.contracts, state, lowered)
        described = describe(found, backend, quantization)
        described = dataclasses.replace(described, constants=constants)
        finished = Finished(described, {lowered.file: lowered.content})
        begin("running the program beside the module")
        verification = None
        with _lacking_kernels_told(programs):
            if passes.given:  # a pass may change what the program computes
                open_only(finished)
            else:
                taken = time.monotonic() - started
                verification = verify(eager, traced, finished, draws, taken)
                finished = verification.recorded(finished)
    how = {t.name: t.how for t in traced}
    return Program(finished.described, finished.files, how, verification, lowered.parts)


@contextlib.contextmanager
def _lacking_kernels_told(programs: Mapping[str, ExportedProgram]) -> Iterator[None]:
    """Says where the user calls an operator that the runtime lacks."""
    try:
        yield
    except UnsupportedError as error:
        problem = without_kernel(programs, error)
        if problem is None:
            raise
        refusal = UnsupportedError(problem.told("the program cannot run"))
        refusal.example = problem.example
        raise refusal from error


def _contract(eager: EagerModule, traced: Traced, backend: str) -> MethodContract:
    contract = method_contract(
        traced.name,
        traced.functional,
        declared_sizes(traced.dimensions),
        minimum_is_proved=True,
        trial=Trial(
            traced.exported,
            traced.args,
            traced.kwargs,
            lambda args, kwargs: is_right(eager, traced, *traced.made_valid(args, kwargs)),
        ),
        checks_values=backend == "aoti" or writes_early(traced.functional),
    )
    traced.assumptions.restore(traced.functional)
    return with_complex(contract, traced.functional, traced.complex_places)
