"""Turns assertions into what survives lowering: guards, ranges of inputs, and checking operators.

ExecuTorch drops assertions. Here conditions on sizes become guards and conditions on integer inputs
become ranges of their values, both of which the runtime checks before the engine sees an input.
Every other condition is computed by tensor operators and tested inside the program by
``polystate::check``, ``check_range`` and ``check_size``, which fail the call. So do
``check_places``, for steps of tokens that the method writes into pages, and ``check_page_copies``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Graph, GraphModule, Node

import polystate.ops  # noqa: F401  (registers the checking operators)
from polystate.artifact.manifest import Check, Guard, ValueRange
from polystate.artifact.names import printable
from polystate.errors import UnsupportedError
from polystate.export.contract.anchors import live_nodes, tie_in
from polystate.export.contract.bounds import Bounds, split, tightest
from polystate.export.contract.descriptions import (
    describe_bounds,
    describe_condition,
    describe_leaf,
    describe_tensor,
)
from polystate.export.contract.guards import guard
from polystate.export.contract.indices import ComputedIndex, computed_indices
from polystate.export.contract.input_bounds import input_bounds
from polystate.export.contract.kernel_conditions import KernelCondition, kernel_conditions
from polystate.export.contract.places import PageCopy, WrittenStep, page_copies, written_steps
from polystate.export.contract.value_sizes import (
    NeededSize,
    Repetitions,
    needed_sizes,
    repetitions,
)
from polystate.export.graph.expressions import INT64_MAX, INT64_MIN
from polystate.export.graph.provenance import Provenance
from polystate.export.graph.scalar_tensors import ScalarTensors, call
from polystate.export.graph.scalars import ITEMS, Leaf, Scalars
from polystate.export.graph.signature import rename_outputs
from polystate.export.graph.sizes import Sizes, shape_environment, to_sympy
from polystate.export.graph.sources import source_of
from polystate.export.graph.writers import part_writers
from polystate.export.tracing.assertions import Assertion, erase_implied, find_assertions

aten = torch.ops.aten
operators = torch.ops.polystate


@dataclass(frozen=True)
class Checked:
    """What the assertions of a method became.

    Attributes
    ----------
    guards
        Conditions on sizes.
    ranges
        Limits of integer inputs, by the input's name.
    checks
        Conditions that operators in the program test.
    """

    guards: list[Guard] = field(default_factory=list)
    ranges: dict[str, list[ValueRange]] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)


def lower_assertions(
    exported: ExportedProgram,
    sizes: Sizes,
    messages: Mapping[str, str] | None = None,
    checks_values: bool = False,
) -> Checked:
    """Replace every assertion of a functional program, in place, by what survives lowering.

    Afterwards each change of state comes after the checks, except of those that depend on the
    changed value itself, and each ``.item()`` after the checks of its range.

    Parameters
    ----------
    messages
        The user's messages, see `user_messages`.
    checks_values
        Whether indices that the graph computes, and other values that kernels refuse, are checked
        as well, before they are used: for an engine whose operators cannot refuse them, or where
        operators would refuse them after a state was written.

    Raises
    ------
    ExportError
        For an assertion that never holds.
    UnsupportedError
        For one that cannot be checked at run time.
    """
    checked = Checked()
    specs = exported.graph_signature
    lifted = [
        node
        for node, spec in zip(_placeholders(exported.graph), specs.input_specs, strict=True)
        if spec.kind != InputKind.USER_INPUT
    ]
    changed = [
        i for i, spec in enumerate(specs.output_specs) if spec.kind == OutputKind.BUFFER_MUTATION
    ]
    provenance = Provenance(exported)
    writers = _writers(exported) if checks_values else []
    lowering = _Lowering(
        exported.graph_module, sizes, messages or {}, checked, provenance, lifted, changed, writers
    )
    lowering.lower(computed_indices(exported.graph, exported, sizes) if checks_values else None)
    rename_outputs(exported)
    _forget_inequalities(exported)
    return checked


@dataclass(frozen=True)
class _Lowering:
    """The assertions of one graph.

    Attributes
    ----------
    module
        The graph: a method's, or that of a branch inside it.
    checked
        Where to put what they become.
    provenance
        Of the method's tensors; None in a branch, which is not always taken, so that its
        conditions say nothing of the inputs.
    fixed
        Weights and state among the placeholders.
    changed
        Which results are new values of state.
    writers
        Operators that may change a part of a state at once.
    """

    module: GraphModule
    sizes: Sizes
    messages: Mapping[str, str]
    checked: Checked
    provenance: Provenance | None
    fixed: list[Node]
    changed: list[int]
    writers: list[Node]
    scalars: Scalars = field(default_factory=Scalars)

    @property
    def graph(self) -> Graph:
        return self.module.graph

    def lower(self, indices: Sequence[ComputedIndex] | None = None) -> None:
        """Replace the assertions of the graph and of the branches inside it.

        Parameters
        ----------
        indices
            Those of the graph that are to be checked, too; None: not even those of branches.
        """
        assertions = list(find_assertions(self.graph, self.scalars, self.messages))
        erase_implied(self.graph)
        for assertion in assertions:
            self.graph.erase_node(assertion.node)
        with self.graph.inserting_before(self.graph.output_node()):
            self._lower_numbers([a for a in assertions if not isinstance(a.condition, Node)])
            for assertion in assertions:
                if isinstance(assertion.condition, Node):
                    source = source_of([assertion.node, assertion.condition])
                    self._lower_truth(assertion.condition, assertion.message, source)
            for alike in _alike(indices or ()):
                self._lower_index(alike)
            for condition in list(kernel_conditions(self.graph, every=indices is not None)):
                self._lower_kernel_condition(condition)
            for step in written_steps(self.graph):
                self._lower_places(step)
            for copy in page_copies(self.graph):
                self._lower_page_copies(copy)
            for needed in list(needed_sizes(self.graph)):
                self._lower_needed_size(needed)
            for repeated in list(repetitions(self.graph)):
                self._lower_repetitions(repeated)
        self._lower_branches(checks_values=indices is not None)
        self.graph.eliminate_dead_code()
        self.graph.lint()
        self.module.recompile()

    def _lower_numbers(self, assertions: list[Assertion]) -> None:
        bounds: list[Bounds] = []
        messages: dict[sympy.Symbol, str] = {}
        others: dict[sympy.Basic, Assertion] = {}
        for assertion in assertions:
            of_numbers, rest = split(assertion.condition, self.scalars.leaves.keys())
            bounds += of_numbers
            if assertion.message:
                messages.update({bound.symbol: assertion.message for bound in of_numbers})
            for condition in rest:
                if condition not in others or not others[condition].message:
                    others[condition] = assertion
        for bound in tightest(bounds, self.sizes):
            self._lower_bounds(bound, messages.get(bound.symbol, ""))
        for condition, assertion in others.items():
            self._lower_condition(condition, assertion)

    def _lower_bounds(self, bounds: Bounds, message: str) -> None:
        leaf = self.scalars.leaves[bounds.symbol]
        source = self._source([leaf])
        if leaf.is_bool and bounds.low == 1:
            self._lower_truth(leaf.node, message, source)
            return
        argument = self.provenance.input_of(leaf.node) if self.provenance else None
        if argument is not None:
            self._limit(argument.name, bounds, source)
            return
        writer = ScalarTensors(self.graph, self.scalars.leaves)
        low = INT64_MIN if bounds.low is None else writer.write_size(bounds.low)
        high = INT64_MAX if bounds.high is None else writer.write_size(bounds.high)
        target = operators.check_size if leaf.is_size else operators.check_range
        text = describe_bounds(bounds, describe_leaf(leaf, self._names), self.sizes)
        self._add(target.default, (leaf.node, low, high), text, source)

    def _lower_condition(self, condition: sympy.Basic, assertion: Assertion) -> None:
        labels = {
            symbol: describe_leaf(self.scalars.leaves[symbol], self._names)
            for symbol in condition.free_symbols & self.scalars.leaves.keys()
        }
        source = self._source([self.scalars.leaves[symbol] for symbol in labels], assertion)
        if not labels and self.provenance is not None:
            found = guard(condition, self.sizes, source)
            self.checked.guards.extend([] if found is None else [found])
            return
        ok = ScalarTensors(self.graph, self.scalars.leaves).write(condition)
        text = assertion.message or describe_condition(condition, self.sizes, labels)
        read = [item for symbol in labels for item in _items(self.scalars.leaves[symbol].node)]
        self._add(operators.check.default, (ok,), text, source, before=read)

    def _lower_truth(self, tensor: Node, message: str, source: str) -> None:
        """Assert that a tensor is true."""
        limits = self.provenance and input_bounds(tensor, self.scalars, self.provenance)
        if limits:
            for bounds in tightest(limits, self.sizes):
                self._limit(bounds.symbol.name, bounds, source)
            return
        if tensor.meta["val"].dtype != torch.bool:
            tensor = call(self.graph, aten.ne.Scalar, tensor, 0)
        text = message or describe_tensor(tensor, self._names)
        self._add(operators.check.default, (tensor,), text, source)

    def _lower_index(self, alike: Sequence[ComputedIndex]) -> None:
        """Check an index before it is used, as often as that is within the same limits."""
        index = alike[0]
        writer = ScalarTensors(self.graph, self.scalars.leaves)
        label = describe_tensor(index.index, self._names)
        low: Node | int
        try:
            low, high = writer.write_size(index.low), writer.write_size(index.high)
            bounds = Bounds(sympy.Symbol("index"), index.low, index.high)
            text = f"{describe_bounds(bounds, label, self.sizes)}, which indexes {index.what}"
        except UnsupportedError:  # only the run knows the size
            size = call(self.graph, aten.sym_size.int, index.tensor, index.dimension)
            low = call(self.graph, operator.neg, size) if index.low != 0 else 0
            high = call(self.graph, operator.sub, size, 1)
            text = f"{label} indexes {index.what}"
        condition = (index.index, low, high)
        source = source_of([index.use, index.index])
        uses = [each.use for each in alike]
        self._add(operators.check_range.default, condition, text, source, before=uses)

    def _lower_kernel_condition(self, condition: KernelCondition) -> None:
        """Check what a kernel needs, before it is computed."""
        ok, source = condition.write(self.graph), source_of([condition.use])
        self._add(operators.check.default, (ok,), condition.text, source, before=[condition.use])

    def _lower_places(self, step: WrittenStep) -> None:
        """Check that each token of a step has a place of its own, before any is written."""
        page = ScalarTensors(self.graph, self.scalars.leaves).write_size(
            sympy.sympify(to_sympy(step.page))
        )
        condition = (step.page_table, step.positions, step.rows, page)
        text, source = "every token has a place of its own", source_of(step.uses)
        self._add(operators.check_places.default, condition, text, source, before=step.uses)

    def _lower_page_copies(self, copy: PageCopy) -> None:
        """Check that pages can be copied in any order, before any is."""
        text = "no page is both copied and overwritten, or overwritten by two"
        condition, source = (copy.source, copy.target), source_of(copy.uses)
        self._add(operators.check_page_copies.default, condition, text, source, before=copy.uses)

    def _lower_needed_size(self, needed: NeededSize) -> None:
        """Check that a reduction has an element, before it is computed."""
        size = call(self.graph, aten.sym_size.int, needed.tensor, needed.dimension)
        text = f"{describe_tensor(needed.tensor, self._names)}.shape[{needed.dimension}] >= 1"
        condition = (size, 1, INT64_MAX)
        source = source_of([needed.use])
        self._add(operators.check_size.default, condition, text, source, before=[needed.use])

    def _lower_repetitions(self, repeated: Repetitions) -> None:
        """Check how often elements are repeated, before they are."""
        total = call(self.graph, aten.sum.default, repeated.counts)
        label, source = describe_tensor(repeated.counts, self._names), source_of([repeated.use])
        least, most = (0, repeated.most) if repeated.given is None else (repeated.given,) * 2
        in_all = (
            f"0 <= sum({label}) <= {most}"
            if repeated.given is None
            else (f"sum({label}) is the output_size")
        )
        for condition, text in (
            ((repeated.counts, 0, repeated.most), f"0 <= {label} <= {repeated.most}"),
            ((total, least, most), in_all),
        ):
            self._add(operators.check_range.default, condition, text, source, [repeated.use])

    def _limit(self, name: str, bounds: Bounds, source: str) -> None:
        """Limit the elements of an input."""
        text = f"the method asserts {describe_bounds(bounds, name, self.sizes)}"
        limits = ValueRange(
            None if bounds.low is None else self.sizes.expression(bounds.low),
            None if bounds.high is None else self.sizes.expression(bounds.high),
            f"{text} ({source})" if source else text,
        )
        self.checked.ranges.setdefault(name, []).append(limits)

    def _add(
        self,
        target: Callable[..., Any],
        condition: tuple[Any, ...],
        text: str,
        source: str,
        before: Sequence[Node] = (),
    ) -> None:
        """Test a condition inside the program, before the operators that are given."""
        check = Check(len(self.checked.checks), printable(text) or "a condition", source)
        self.checked.checks.append(check)
        nodes = [operand for operand in condition if isinstance(operand, Node)]
        live = live_nodes(self.graph)
        items = (item for node in nodes for item in _items(node))
        read = [node for node in (*items, *before) if node in live]
        written = [node for node in self.writers if node in live]
        results = _results(self.graph)
        tie_in(
            self.graph,
            lambda tensor: call(self.graph, target, tensor, *condition, check.id),
            nodes,
            must_follow=dict.fromkeys([*(results[i] for i in self.changed), *written, *read]),
            fixed=self.fixed,
            uses=before,
        )

    def _lower_branches(self, checks_values: bool) -> None:
        live = live_nodes(self.graph)
        for node in self.graph.find_nodes(op="get_attr"):
            branch = getattr(self.module, node.target)
            if not isinstance(branch, GraphModule):
                continue
            before = len(self.checked.checks)
            indices = computed_indices(branch.graph, None, self.sizes) if checks_values else None
            inside = _Lowering(branch, self.sizes, self.messages, self.checked, None, [], [], [])
            inside.lower(indices)
            if len(self.checked.checks) > before and node not in live:
                text = self.checked.checks[before].text
                raise UnsupportedError(f"'{text}' is asserted in a branch whose result is not used")

    @property
    def _names(self) -> Mapping[Node, str]:
        return self.provenance.names if self.provenance else {}

    def _source(self, leaves: Iterable[Leaf], *assertions: Assertion) -> str:
        """Find the user's line of an assertion, or else where its numbers are read."""
        nodes = [a.node for a in assertions]
        for leaf in leaves:
            nodes += [*_items(leaf.node), leaf.node, *leaf.node.all_input_nodes]
        return source_of(nodes)


def _items(tensor: Node) -> list[Node]:
    """Find where a tensor's only element is read as a number."""
    return [user for user in tensor.users if user.target in ITEMS]


def _placeholders(graph: Graph) -> list[Node]:
    return list(graph.find_nodes(op="placeholder"))


def _results(graph: Graph) -> list[Node]:
    results: Any = graph.output_node().args[0]
    return list(results)


def _forget_inequalities(exported: ExportedProgram) -> None:
    """Keep PyTorch from asserting again, when it decomposes a graph, what ExecuTorch cannot.

    What it knows of sizes by other conditions it may need.
    """
    environment = shape_environment(exported)
    if environment is not None:
        for asserted in environment.deferred_runtime_asserts.values():
            asserted[:] = [each for each in asserted if not each.expr.has(sympy.Ne, sympy.Not)]


def _alike(indices: Iterable[ComputedIndex]) -> Iterable[list[ComputedIndex]]:
    """Group indices of which the same is to be checked."""
    groups: dict[Any, list[ComputedIndex]] = {}
    for index in indices:
        groups.setdefault((index.index, index.low, index.high), []).append(index)
    return groups.values()


def _writers(exported: ExportedProgram) -> list[Node]:
    """List what may change a part of a state before its new value is known, in graph order."""
    signature = exported.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    states = {
        node
        for node in _placeholders(exported.graph)
        if signature.inputs_to_buffers.get(node.name) in changed
    }
    writers = part_writers(exported.graph, states)
    return [node for node in exported.graph.nodes if node in writers]
