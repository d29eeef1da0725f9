"""The kinds of problems that programs have: what is wrong in a user's words, and a way out.

Each kind has the name of its page in the example database (``docs/examples``), where a program that
has the problem and the rewrite are shown, which the tests run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from polystate.export.diagnosis.lines import (
    line_of_error,
    line_of_nodes,
    statement_of_error,
)


@dataclass(frozen=True)
class Problem:
    """What is wrong with a program.

    Attributes
    ----------
    cause
        In one sentence.
    line
        The user's own; empty where it is not known.
    rewrite
        What to write instead.
    example
        The page of the example database.
    """

    cause: str
    line: str
    rewrite: str
    example: str

    def told(self, what: str) -> str:
        """The message: what cannot be done, why, where, and what to do instead."""
        lines = [f"{what}: {self.cause}"]
        lines += [f"at {self.line}"] if self.line else []
        return "\n  ".join([*lines, f"rewrite: {self.rewrite}"])


Statement = ast.stmt | None


@dataclass(frozen=True)
class _Kind:
    """A kind of problem.

    Attributes
    ----------
    marks
        Regular expressions for what libraries say of it.
    is_at
        Whether the user's statement is one of this kind.
    rewrite
        What to write instead; `{test}` and `{message}` are parts of the user's statement.
    concerns
        Tells which nodes of a graph have the user's line, where the exception has none.
    """

    example: str
    marks: tuple[str, ...]
    cause: str
    rewrite: str
    is_at: Callable[[Statement], bool] = lambda _: True
    concerns: Callable[[Node], bool] | None = None


# What PyTorch says where a number or a truth is wanted of a tensor whose values a trace lacks.
_OF_VALUES = (
    "Could not guard on data-dependent expression",
    "Could not extract specialized integer from data-dependent expression",
)


def _raises(statement: Statement) -> bool:
    return isinstance(statement, ast.If) and isinstance(statement.body[0], ast.Raise)


def _branches(statement: Statement) -> bool:
    if isinstance(statement, ast.If):
        return True
    if statement is None or isinstance(statement, ast.For | ast.While | ast.With):
        return False
    return any(isinstance(node, ast.IfExp | ast.BoolOp | ast.Not) for node in ast.walk(statement))


_DERIVATIVES = {"grad", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "grad_and_value"}


def _differentiates(statement: Statement) -> bool:
    return bool(_names(statement) & _DERIVATIVES)


def _copies_objects(statement: Statement) -> bool:
    return bool(_names(statement) & {"copy", "deepcopy"})


def _names(statement: Statement) -> set[str]:
    """What a statement calls by a name, or by an attribute of this name."""
    if statement is None:
        return set()
    called = [each.func for each in ast.walk(statement) if isinstance(each, ast.Call)]
    names = [each.attr for each in called if isinstance(each, ast.Attribute)]
    return {*names, *(each.id for each in called if isinstance(each, ast.Name))}


def _reads_number(node: Node) -> bool:
    return str(node.target) in ("aten.item.default", "aten._local_scalar_dense.default")


_DIFFERENTIATION = "this computes gradients, and a program computes without recording them"
_OWN_DERIVATIVE = (
    "record them where they are needed: with torch.enable_grad(): z = x.detach().requires_grad_(); "
    "g = torch.autograd.grad((z * z).sum(), z)[0]; or write the derivative with operators: 2 * x"
)

_KINDS = (
    _Kind(
        "loop_on_values",
        _OF_VALUES,
        "how often this loop runs depends on the values of a tensor, and a program has one path "
        "for all values",
        "run it as often as it may be needed, and keep what is done: for _ in range(most): x = "
        "torch.where({test}, step(x), x); or export one step as a method, which also returns "
        "{test}, and loop in the caller",
        lambda statement: isinstance(statement, ast.While),
    ),
    _Kind(
        "loop_count_of_tensor",
        _OF_VALUES,
        "a number that is read from a tensor says how often this loop runs, and a program has one "
        "path for all values",
        "run it as often as it may be needed, and keep what is done: for i in range(most): x = "
        "torch.where(i < n, step(x), x), with n as a tensor; or give the method a Python int, "
        "which is fixed when it is exported",
        lambda statement: isinstance(statement, ast.For),
    ),
    _Kind(
        "assert_on_values",
        _OF_VALUES,
        "this asserts something of the values of a tensor in Python, which the trace cannot see",
        "let the program check it: torch._assert_async({test}, {message})",
        lambda statement: isinstance(statement, ast.Assert),
    ),
    _Kind(
        "raise_on_values",
        _OF_VALUES,
        "this raises an exception because of the values of a tensor, which the trace cannot see",
        "let the program check it: torch._assert_async(torch.logical_not({test}), {message})",
        _raises,
    ),
    _Kind(
        "branch_on_values",
        _OF_VALUES,
        "this takes one of two paths by the values of a tensor, and a program has one path for "
        "all values",
        "compute both and choose: torch.where({test}, a, b); or run one of them: torch.cond({test},"
        " f, g, (x,)), where f and g return new tensors of one shape; or export a method for each "
        "path, and choose in the caller",
        _branches,
    ),
    _Kind(
        "unbounded_size",
        ("Cannot evaluate a finite upper bound",),
        "the size of a tensor is a number that is read from another one and has no maximum, and "
        "memory is planned at export",
        "give it one: n = count.item(); torch._check(n >= 0); torch._check(n <= 64); or make the "
        "tensor as large as it gets, and use a mask: torch.arange(64) < count",
        concerns=_reads_number,
    ),
    _Kind(
        "shape_of_values",
        ("DynamicOutputShapeException", "DataDependentOutputException"),
        "the shape of this operator's result depends on the values of a tensor, for which PyTorch "
        "has no rule",
        "compute it in the caller, and pass the result as an input; or compute with a mask, whose "
        "shape is fixed: torch.where(mask, x, 0)",
    ),
    _Kind(
        "operator_without_trace",
        ("UnsupportedOperatorException", "no fake impl (registered|or Meta kernel)"),
        "PyTorch cannot trace this operator, since it has no rule for the shape of its result",
        "give it one: @torch.library.register_fake('name::operator'); or compute it in the caller, "
        "and pass the result as an input",
    ),
    _Kind(
        "float_of_tensor",
        (r"Could not guard on data-dependent expression z?uf\d+ ",),
        "float() makes a number of Python's of a tensor's value, and a trace has no values",
        "leave it out, and compute with the tensor, as with a number: x * scale; of several make "
        "one: torch.stack([a, b]) in place of torch.tensor([float(a), float(b)])",
    ),
    _Kind(
        "number_of_tensor",
        _OF_VALUES,
        "a number that is read from a tensor is used as a size or an index here, and its range is "
        "not known",
        "say its range before it is used: k = i.item(); torch._check(k >= 0); torch._check(k < "
        "x.shape[0]), of a slice x[k:k + n] torch._check(k + n <= x.shape[0]); or use a tensor: "
        "x.index_select(0, i.reshape(1)), x.index_copy_(0, i.reshape(1), row)",
    ),
    _Kind(
        "numpy_inside",
        (
            r"\.numpy\(\) is not supported for tensor subclasses",
            "numpy.ndarray",
            "(?<!nonzero)_numpy",
        ),
        "this leaves PyTorch for NumPy, and a program has PyTorch's operators only",
        "use PyTorch's function, which mostly has the same name (np.sin: torch.sin); or compute it "
        "in the caller and pass it as an input",
    ),
    _Kind(
        "gradients_inside",
        (
            "Cannot access data pointer of Tensor",
            "has no attribute 'constant'",
            "_unwrap_for_grad",
            "Nested forward mode AD",
            "fake tensor in the exported program constant's list",
        ),
        _DIFFERENTIATION,
        _OWN_DERIVATIVE,
        _differentiates,
    ),
    _Kind(
        "function_of_elements",
        ("Cannot access data pointer of Tensor", "elem.device.type must be 'meta'"),
        "this copies a tensor as an object of Python's, and a trace has operators only",
        "use x.clone()",
        _copies_objects,
    ),
    _Kind(
        "float_of_tensor",
        ("data is not allocated yet",),
        "this makes a tensor of the values of others, and a trace has no values",
        "join the tensors themselves: torch.stack([a, b]) in place of torch.tensor([a, b])",
    ),
    _Kind(
        "number_of_tensor",
        ("Attempted to wrap unbacked SymInt",),
        "a branch of torch.cond uses a number that is read from a tensor outside of it",
        "make the tensor an operand, and compute with it: torch.cond(p, lambda x, n: x * n, g, "
        "(x, n))",
    ),
    _Kind(
        "shape_of_values",
        ("Pending unbacked symbols",),
        "the shape of a result depends on the values of a tensor here, and nothing says how large "
        "it is",
        "of a mask beside other indices make numbers: rows = mask.nonzero()[:, 0]; "
        "torch._check(rows.shape[0] == 2); x[rows, i]",
    ),
    _Kind(
        "function_of_elements",
        ("Cannot access data pointer of Tensor",),
        "this works on the elements of a tensor outside of PyTorch's operators, in which a trace "
        "has none",
        "use operators: torch.where(x > 0, x, 0 * x) in place of x.apply_(lambda v: max(v, 0)), "
        "x.clone() in place of copy.deepcopy(x), torch.autograd.grad under torch.enable_grad() in "
        "place of torch.func.grad; or compute it in the caller, and pass the result as an input",
    ),
    _Kind(
        "cond_result_is_operand",
        ("might be aliasing the input or the output",),
        "a branch of torch.cond returns one of its operands or a view of one, and must return new "
        "tensors",
        "return copies: lambda x: x[:2].clone()",
    ),
    _Kind(
        "complex_branches",
        (r"complex_parts\.Complex object",),
        "complex numbers are given to torch.cond, or to a function that torch maps, and a program "
        "has them as pairs of real ones elsewhere alone",
        "compute both branches, and choose: torch.where(p, a, b); or give the branches both parts: "
        "(z.real, z.imag)",
    ),
    _Kind(
        "cond_results_differ",
        (
            "When merging two branches' output",
            "Expected each tensor to have same metadata",
            "strides of the two branches' output doesn't match",
            "cond's output stride is not a simple accumulative multiplication",
        ),
        "the branches of torch.cond return tensors of different form: another shape, type or place "
        "in memory",
        "return new tensors of one shape and type from both: lambda x: x[:2].clone(), or "
        "x.t().contiguous(); fill a shorter one, and return how much of it counts",
    ),
    _Kind(
        "loop_on_values",
        ("Unsupported control flow operator: while_loop",),
        "the ExecuTorch runtime (backends 'xnnpack' and 'portable') has no while_loop",
        "run the loop as often as it may be needed: for _ in range(most): x = torch.where(p, "
        "step(x), x); or export one step as a method and loop in the caller",
    ),
    _Kind(
        "fixed_size",
        (
            "your code specialized it to be a constant",
            r"is invalid for input of size .*s\d",
            r"size of tensor \w+ \(.*s\d+.*must match",
        ),
        "the code fixes a size that dynamic_shapes lets vary",
        "take the size of the tensor (x.shape[0], or -1 in a reshape) instead of a number, "
        "torch.tensor(n).log() instead of math.log(n), and no Python loop over that dimension; or "
        "export it with the fixed size alone, and one method for each other",
    ),
    _Kind(
        "branch_on_size",
        ("Constraints violated",),
        "the code takes another path at other sizes of {sizes}, and a program has one path",
        "narrow the Dim to the sizes for which the code takes one path, and export one method for "
        "each path",
    ),
    _Kind(
        "attribute_that_changes",
        ("is mutated in the forward method",),
        "a tensor that is no buffer is changed",
        "register the tensor as a buffer: self.register_buffer(name, tensor)",
    ),
    _Kind(
        "buffer_data",
        ("fake tensor in the exported program constant's list",),
        "a tensor of the trace would be a constant of the program: memory of a buffer is changed "
        "behind the trace, or a function of torch.func keeps what it computed",
        "change a buffer itself, not its .data or a NumPy array over it: self.buffer.add_(x); and "
        "leave out_dims out of torch.vmap: torch.vmap(f)(x).movedim(0, 1)",
    ),
    _Kind(
        "buffers_that_exchange_names",
        ("is missing nn_module_stack metadata",),
        "a buffer is set to another buffer itself",
        "set it to a copy: self.a, self.b = self.b.clone(), self.a.clone()",
    ),
    _Kind(
        "strided_view_of_view",
        (r"mutation on a view chain of length \d+, where view \d+ was an as_strided",),
        "this changes a tensor through as_strided of another view (fill_diagonal_ is written with "
        "it), which a trace cannot follow",
        "use other views: x[:, :4].diagonal().fill_(1), x.unflatten(0, (2, -1)), x[::2]",
    ),
    _Kind(
        "gradients_inside",
        ("does not require grad and does not have a grad_fn",),
        _DIFFERENTIATION,
        _OWN_DERIVATIVE,
    ),
    _Kind(
        "no_result",
        ("graph_output_allocated not set",),
        "the method neither returns a tensor nor changes a buffer, so there is nothing to compute",
        "return a tensor, or keep the result in a buffer: self.last.copy_(y)",
    ),
    _Kind(
        "other_device",
        ("Torch not compiled with CUDA", "No CUDA GPUs", "Found no NVIDIA driver"),
        "this asks for a GPU, and programs run on the CPU",
        "leave out .cuda() and .to('cuda'), or write .to(x.device)",
    ),
)


def problem_of(error: BaseException, programs: Iterable[ExportedProgram] = ()) -> Problem | None:
    """What an exception of a library is about; None where that is not known.

    Parameters
    ----------
    programs
        What was traced of the methods so far, whose nodes know lines.
    """
    text, statement = f"{type(error).__name__}: {error}", statement_of_error(error)
    for kind in _KINDS:
        if kind.is_at(statement) and any(re.search(mark, text) for mark in kind.marks):
            cause, rewrite = kind.cause, kind.rewrite
            for part, value in _parts(statement, text).items():
                cause = cause.replace("{" + part + "}", value)
                rewrite = rewrite.replace("{" + part + "}", value)
            line = line_of_error(error)
            if not line and kind.concerns is not None:
                line = line_of_nodes(filter(kind.concerns, _nodes(programs)))
            return Problem(cause, line, rewrite, kind.example)
    return None


def _nodes(programs: Iterable[ExportedProgram]) -> Iterator[Node]:
    for program in programs:
        for module in program.graph_module.modules():
            if isinstance(module, GraphModule):
                yield from module.graph.nodes


_LONGEST_TEST = 60


def _parts(statement: Statement, text: str) -> dict[str, str]:
    """The parts of a statement, and of what PyTorch says, that messages repeat."""
    sizes = re.search(r"Constraints violated \(([^)]*)\)", text)
    parts = {"test": "condition", "message": "'message'", "sizes": "the range"}
    if sizes:
        parts["sizes"] = f"'{sizes[1]}'"
    if isinstance(statement, ast.If | ast.While | ast.Assert):
        test = ast.unparse(statement.test)
        if len(test) <= _LONGEST_TEST and not isinstance(statement.test, ast.BoolOp | ast.UnaryOp):
            parts["test"] = test
    message = _message(statement)
    if message:
        parts["message"] = message
    return parts


def _message(statement: Statement) -> str | None:
    """The text that a statement fails with, as it is written."""
    found: ast.expr | None = None
    if isinstance(statement, ast.Assert):
        found = statement.msg
    elif isinstance(statement, ast.If) and isinstance(statement.body[0], ast.Raise):
        raised = statement.body[0].exc
        found = raised.args[0] if isinstance(raised, ast.Call) and raised.args else None
    return repr(found.value) if isinstance(found, ast.Constant) else None


# The pages that problems name.
EXAMPLES = frozenset({kind.example for kind in _KINDS} | {"operator_without_kernel"})
