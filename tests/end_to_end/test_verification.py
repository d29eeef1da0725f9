"""An export whose program is wrong fails: each repair is taken away, and verification sees it."""

import platform
from contextlib import contextmanager, nullcontext
from unittest import mock

import pytest
import torch
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

import polystate as ps
from polystate.export import hooks, program
from polystate.export.lowering import (
    inductor,
    inductor_memory,
    rewrites,
    xnnpack_fixes,
)
from polystate.export.tracing import assertions, fast_paths
from polystate.export.tracing.decompositions.table import DECOMPOSED
from tests.end_to_end.printed_programs import run, write_programs
from tests.end_to_end.twins import BACKENDS


@contextmanager
def without(owner, *names):
    """Has functions of a module do nothing."""
    with mock.patch.multiple(owner, **dict.fromkeys(names, lambda *_: None)):
        yield


@contextmanager
def without_pass(name):
    """Lowers programs without one of the passes."""
    left = tuple(each for each in rewrites.REWRITES if each.run.__name__ != name)
    assert len(left) == len(rewrites.REWRITES) - 1
    with mock.patch.object(rewrites, "REWRITES", left):
        yield


class Branches(nn.Module):
    def forward(self, p, v):
        a = torch.cond(p, lambda v: v * 2, lambda v: v * 3, (v,))
        b = torch.cond(p, lambda v: v * 4, lambda v: v * 5, (v,))
        return a, b


@pytest.mark.parametrize("backend", BACKENDS)
def test_branches_that_share_memory(backend):
    example = (torch.tensor(True), torch.zeros(3))
    with without_pass("copy_branch_results"), pytest.raises(ps.ExportError, match="output 0"):
        ps.export(Branches(), {"forward": ps.Method("forward", example)}, backend=backend)


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.arange(6.0).reshape(2, 3).t()

    def forward(self, x):
        return x + self.table


def test_a_constant_that_is_read_in_another_order():
    example = (torch.zeros(3, 2),)
    with without_pass("store_row_major"), pytest.raises(ps.ExportError, match="output 0"):
        ps.export(Table(), {"forward": ps.Method("forward", example)}, backend="aoti")


class Spread(nn.Module):
    def forward(self, x):
        return torch.var_mean(x, dim=[0])


@pytest.mark.filterwarnings("ignore:var_mean.*degrees of freedom:UserWarning")
def test_a_mean_that_is_nan_beside_a_variance_that_is_so_rightly():
    length = Dim("length", min=1, max=9)
    method = ps.Method("forward", (torch.ones(5),), dynamic_shapes=({0: length},))
    kept = {
        operator: written
        for operator, written in DECOMPOSED.items()
        if operator != torch.ops.aten.var_mean.correction
    }
    with (
        mock.patch.dict(DECOMPOSED, kept, clear=True),
        pytest.raises(ps.ExportError, match="output 1 of the lowered program differs"),
    ):
        ps.export(Spread(), {"forward": method}, backend="portable")


class Hooked(nn.Module):
    def forward(self, x):
        return x

    def raw(self, x):
        return x * 2


def test_hooks_of_the_root_in_other_methods():
    model = Hooked()
    model.register_forward_hook(lambda module, args, out: out.clamp(-1, 1))
    with without(hooks.BareCall, "begin", "end"), pytest.raises(ps.ExportError, match="output 0"):
        ps.export(model, {"raw": ps.Method("raw", (torch.zeros(2),))}, backend="portable")


class Divisions(nn.Module):
    def by(self, a, b):
        return torch.fmod(a, b)

    def quotient(self, a, b):
        return torch.div(a, b, rounding_mode="trunc")

    def floored(self, a, b):
        return a // b


@pytest.mark.parametrize(
    ("backend", "method"),
    [
        *((backend, method) for backend in BACKENDS for method in ("by", "quotient", "floored")),
        ("aoti", "quotient"),
        pytest.param("aoti", "by", marks=pytest.mark.exhaustive),
        pytest.param("aoti", "floored", marks=pytest.mark.exhaustive),
    ],
)
def test_divisions_by_zero(backend, method):
    example = (torch.zeros(3, dtype=torch.int32), torch.ones(3, dtype=torch.int32))
    with (
        without(assertions, "assert_eager_checks"),
        pytest.raises(ps.ExportError, match=r"the module refuses them .*(takes them|fails)"),
    ):
        ps.export(Divisions(), {method: ps.Method(method, example)}, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_quotients_that_end_the_process(backend):
    example = (torch.zeros(16, dtype=torch.int32), torch.ones(16, dtype=torch.int32))
    fails = "its process was ended by SIGFPE in 'div'"
    told = fails if platform.machine() == "x86_64" else "output 0"  # ARM's divisions end nothing
    with (
        without_pass("rewrite_integer_divisions"),
        pytest.raises(ps.ExportError, match=f"method 'floored' at drawn values .*{told}"),
    ):
        ps.export(Divisions(), {"floored": ps.Method("floored", example)}, backend=backend)


class Computed(nn.Module):
    def added(self, x, i):
        return x.scatter_add(0, i * 2, torch.ones(2))

    def read(self, x, i):
        return (x - 0.5)[i * 3]


def without_checks_of_values():
    original = program.method_contract

    def unchecked(*args, **kwargs):
        return original(*args, **{**kwargs, "checks_values": False})

    return mock.patch.object(program, "method_contract", unchecked)


@pytest.mark.parametrize("method", ["added", "read"])
def test_computed_indices_that_nothing_checks(method):
    example = (torch.zeros(8), torch.zeros(2, dtype=torch.int64))
    with (
        without_checks_of_values(),
        pytest.raises(ps.ExportError, match=r"the module refuses them .*(takes them|fails)"),
    ):
        ps.export(Computed(), {method: ps.Method(method, example)}, backend="aoti")


class Marked(nn.Module):
    marks: torch.Tensor  # so large that they are written where they lie

    def __init__(self):
        super().__init__()
        self.register_buffer("marks", torch.zeros(128, 128))

    def forward(self, x, i):
        self.marks[i % 128] += 1
        return (x - 0.5)[i * 3]


def test_state_that_a_refusal_loses():
    methods = {"forward": ps.Method("forward", (torch.zeros(8), torch.zeros(2, dtype=torch.int64)))}
    with (
        without_checks_of_values(),
        pytest.raises(ps.ExportError, match="so does the lowered program, whose state is lost"),
    ):
        ps.export(Marked(), methods)


class Copied(nn.Module):
    """Two pools of 128 pages, of which drawn copies often name a page twice."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.randn(128, 1, 8, 16))
        self.register_buffer("values", torch.randn(128, 1, 16, 8))

    def forward(self, source, target):
        return torch.ops.polystate.copy_pages(self.keys, self.values, source, target)


@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_of_pages_that_are_refused_keep_the_state(backend, tmp_path):
    pages = torch.arange(8)
    methods = {"forward": ps.Method("forward", (pages, pages + 8))}
    program = ps.export(Copied(), methods, backend=backend)
    program.save(tmp_path / "copied.polystate")
    session = ps.load(tmp_path / "copied.polystate", trust_code=True).session()
    session.run("forward", pages, pages + 8)
    before = {name: torch.as_tensor(session.state[name]).clone() for name in session.state}
    with pytest.raises(ps.ContractError, match="page 7 is both a source and a target"):
        session.run("forward", pages, pages + 7)
    for name, value in before.items():
        assert torch.equal(torch.as_tensor(session.state[name]), value)


class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 3))

    def forward(self, x):
        self.cache[0] = x
        torch._assert_async(self.cache.sum() < 1, "too much")
        return x * 2


def test_a_state_that_is_written_before_a_check():
    told = r"the module refuses them .*; so does the lowered program, and it changes state 'cache'"
    with (
        mock.patch.object(inductor, "write_after_checks", lambda program: set()),
        pytest.raises(ps.ExportError, match=told),
    ):
        ps.export(Checked(), {"forward": ps.Method("forward", (torch.zeros(3),))}, backend="aoti")


class Line(nn.Module):
    """Parts of a state that are written, beside reads of it at other places, or later."""

    def __init__(self):
        super().__init__()
        self.register_buffer("line", torch.randn(40))
        self.register_buffer("other", torch.randn(40))

    def delayed(self, v, i):
        self.line.index_copy_(0, i[:1], v)
        self.line[1:] = self.line[:-1].clone()
        return self.line * 1.0

    def moved(self, v, i):
        self.line[1:] = self.line[:-1].clone()
        return self.line * 1.0

    def added_to_itself(self, v, i):
        self.line.add_(v)
        square = self.line.view(8, 5) @ self.other.view(5, 8)
        return square.index_add(0, i, square[:2])

    def exchanged(self, v, i):
        self.line[i[0]] = v[0]
        old = self.line.clone()
        self.line.copy_(self.other)
        self.other.copy_(old)

    def joined(self, v, i):
        self.line.add_(v)
        square = self.line.view(8, 5) @ self.other.view(5, 8)
        whole = torch.cat([square, self.other.view(5, 8)])
        return whole, square.index_copy(0, i[:1], torch.ones(1, 8))

    def looped(self, v, i):
        steps = (v[0] > 0).long()
        _, kept = while_loop(
            lambda step, _: step < steps,
            lambda step, line: (step + 1, line + 1),
            (torch.zeros((), dtype=torch.int64), self.line),
        )
        self.line[i[0]] = v[0]
        return kept


@pytest.mark.parametrize(
    ("correction", "method"),
    [
        ("_with_every_name", "delayed"),
        ("_of_known_values", "moved"),
        ("_of_values_apart", "added_to_itself"),
        ("_with_copies_for_later", "exchanged"),
        ("_with_copies_of_parts", "joined"),
        ("_of_copies_of_first_values", "looped"),
    ],
)
def test_a_state_that_is_read_while_it_is_written_or_later(correction, method):
    example = (torch.zeros(1), torch.tensor([1, 2]))
    with (
        mock.patch.object(inductor_memory, correction, lambda function: function),
        pytest.raises(ps.ExportError, match=r"output 0|state '(line|other)'"),
    ):
        ps.export(Line(), {method: ps.Method(method, example)}, backend="aoti")


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3)

    def forward(self, x):
        y = self.norm(self.convolution(x))
        self.norm.running_mean.zero_()
        return y


def test_statistics_that_a_delegate_keeps():
    methods = {"forward": ps.Method("forward", (torch.zeros(1, 2, 3, 3),))}
    with (
        mock.patch.object(xnnpack_fixes, "_with_constants_alone", lambda can_fuse: can_fuse),
        pytest.raises(ps.ExportError, match="output 0"),
    ):
        ps.export(Normed().eval(), methods, backend="xnnpack")


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)

    def forward(self, x, padding):
        return self.encoder(x, src_key_padding_mask=padding)


def test_padding_that_only_the_module_computes_as_zeros():
    example = (torch.zeros(2, 4, 8), torch.zeros(2, 4, dtype=torch.bool))
    with (
        mock.patch.object(fast_paths, "closed", nullcontext),
        pytest.raises(ps.ExportError, match="output 0"),
    ):
        ps.export(Padded().eval(), {"forward": ps.Method("forward", example)}, backend="portable")


class Sorted(nn.Module):
    """What is right only where numbers have no ties, no order of writing and no NaN."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 3))
        self.linear = nn.Linear(3, 64)

    def best(self, x):
        return self.linear(x).argmax(-1), self.linear(x) > 0, x.log().sum(-1)

    def write(self, x, i):
        self.rows.index_copy_(0, i, x)
        return self.rows.sum(0), (x * 1e6).to(torch.int8)


def test_what_no_two_implementations_have_in_common_is_no_difference():
    torch.manual_seed(0)
    batch = Dim("batch", min=1, max=64)
    exported = ps.export(
        Sorted(),
        {
            "best": ps.Method("best", (torch.ones(2, 3),), dynamic_shapes={"x": {0: batch}}),
            "write": ps.Method("write", (torch.ones(3, 3), torch.tensor([0, 1, 2]))),
        },
        draws=ps.Draws(seed=3, count=120),
    )
    tallies = exported.verification.tallies
    assert sum(tally.drawn for tally in tallies.values()) == 120
    assert all(tally.agreed > tally.drawn / 4 for tally in tallies.values())
    assert "seed 3" in exported.report()


class Chosen(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 1e6, lambda v: v * 2, lambda v: v * 3, (x,))


def test_branches_that_no_draw_took_are_reported():
    exported = ps.export(
        Chosen(), {"forward": ps.Method("forward", (torch.zeros(3),))}, backend="portable"
    )
    assert "warning: no drawn call took the branch True of the cond" in exported.report()
    assert "branch False" not in exported.report()


def test_the_documentations_program_draws_valid_arguments(tmp_path):
    write_programs("docs/verification.md", "verification", tmp_path)
    told = run(tmp_path, "python", "export.py")
    assert "verified: 20 of 20 drawn calls agree" in told
    assert "verified with 20 drawn calls of seed 7" in told


class Weighted(nn.Module):
    def forward(self, weights, x):
        total = weights.sum().item()
        torch._check(total > 0)
        return x * weights / total


def test_what_the_modules_own_check_rejects_is_refused_and_the_other_draws_agree(tmp_path):
    methods = {"forward": ps.Method("forward", (torch.ones(3), torch.ones(3)))}
    program = ps.export(Weighted(), methods, backend="portable", draws=ps.Draws(seed=1, count=40))
    tally = program.verification.tallies["forward"]
    assert tally.drawn == 40 and 10 < tally.agreed <= 40
    assert sum(tally.left_out.values()) == 40 - tally.agreed
    assert "sum(weights) > 0" in program.report() and "a tenth" not in program.report()
    session = ps.load(program.save(tmp_path / "artifact")).session()
    x = torch.tensor([1.0, 2.0, 3.0])
    with pytest.raises(ps.ContractError, match=r"'sum\(weights\) > 0' does not hold"):
        session.run("forward", -torch.ones(3), x)
    torch.testing.assert_close(session.run("forward", torch.ones(3), x)[0], x / 3)


class Symmetric(nn.Module):
    def forward(self, matrix):
        torch._assert_async((matrix == matrix.mT).all(), "not symmetric")
        return matrix.sum(-1)


def test_too_few_valid_draws_are_a_warning_and_a_wrong_draw_is_refused():
    methods = {"forward": ps.Method("forward", (torch.eye(3),))}
    told = ps.export(Symmetric(), methods, backend="portable").report()
    assert "verified: 0 of 32" in told and "32 left out: the module refused them" in told
    assert "warning: that is less than a tenth" in told
    methods = {"forward": ps.Method("forward", (torch.eye(3),), draw=lambda g, a, k: (a[0][:1], k))}
    with pytest.raises(ps.ContractError, match=r"its draw\(generator, args, kwargs\) must return"):
        ps.export(Symmetric(), methods, backend="portable")


class Sums(nn.Module):
    """Sums that come to nearly nothing of what they are of, and multiples of any integers."""

    def cancelling(self, x):
        counted = (x > 0).sum(dtype=torch.float32)
        return x.float().sum(), counted, (x > 0).cumsum(0, dtype=torch.float32)

    def linear(self, x):
        return nn.functional.linear(x.float(), torch.ones(1, 3), torch.ones(1))

    def multiples(self, x):
        return torch.lcm(x, x + 1), torch.gcd(x, x - 1), x.clone().lcm_(x - 1)


def test_sums_of_large_terms_and_multiples_of_the_smallest_integer_are_no_difference():
    example = (torch.tensor([1, 2, 5], dtype=torch.int32),)
    methods = {name: ps.Method(name, example) for name in ("cancelling", "linear", "multiples")}
    ps.export(Sums(), methods, backend="portable")
