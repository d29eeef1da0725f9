"""Complex inputs, results, state and constants, which programs have as pairs of real numbers."""

import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

TURNS = torch.polar(torch.ones(4), torch.arange(4.0))


def drawn(*shape, seed=0, dtype=torch.complex64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


class Resonator(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("z", torch.zeros(4, dtype=torch.complex64))
        self.register_buffer("wide", drawn(2, 3, dtype=torch.complex128).conj())
        self.register_buffer("count", torch.zeros((), dtype=torch.complex64))
        self.register_buffer("turn", torch.polar(torch.full((4,), 0.9), torch.arange(4.0)))
        self.linear = nn.Linear(4, 3, dtype=torch.complex64)
        self.listed = [drawn(4, seed=1), drawn(4, seed=2).conj()]

    def rotate(self, x, scale):
        """Dynamic, nested, and with real results beside the complex ones."""
        rotated = x * self.turn * scale
        return rotated, x.abs(), {"conjugates": (x.conj(), scale), "projected": self.linear(x)}

    def accumulate(self, x):
        self.z.mul_(self.turn).add_(x)
        self.count += x.sum()
        return self.z, self.z.conj().imag

    def change_parts(self, x, w):
        """In place: through indices, parts, views and lazy conjugates."""
        self.z[1:3] = x[:2]
        self.z[torch.tensor([0, 3])] = x[2:] * 1j
        self.z.real.add_(w)
        torch.view_as_real(self.z)[:, 1] *= w
        self.z.view(2, 2).t()[0].sub_(1)
        self.z.conj().mul_(1 + 2j)
        self.z[w > 1] = 0
        return self.wide.clone()

    def assign(self, x):
        self.wide = self.wide.flip(0) + x.to(torch.complex128).outer(x)[:2, :3]
        return self.wide.abs()

    def write_input(self, x, by):
        x.mul_(by).add_(self.listed[0])
        x[0] = 2.0
        return (self.listed[1] + TURNS).real * by.real

    def spectrum(self, x):
        return torch.fft.rfft(x), torch.fft.ifft(x), x.view(torch.complex64)


def methods():
    n = Dim("n", min=1, max=8)
    rows = drawn(3, 4)
    return {
        "rotate": ps.Method("rotate", (rows, torch.tensor(2.0)), dynamic_shapes=((n, None), None)),
        "accumulate": ps.Method("accumulate", (rows[0],)),
        "change_parts": ps.Method("change_parts", (rows[0], rows[1].real.clone())),
        "assign": ps.Method("assign", (rows[0].conj(),)),
        "write_input": ps.Method("write_input", (rows[0], rows[1])),
        "spectrum": ps.Method("spectrum", (torch.arange(6.0),)),
    }


@every_backend
def test_complex_tensors_cross_a_methods_boundary(tmp_path, backend):
    twins = Twins(Resonator(), methods(), tmp_path, backend)
    assert str(twins.program.methods["rotate"]) == (
        "rotate(x: complex64[n, 4], scale: float32[]) -> (complex64[n, 4], float32[n, 4], "
        "complex64[n, 4], float32[], complex64[n, 3])"
    )
    states = {name: (each.dtype, each.shape) for name, each in twins.program.state.items()}
    assert states == {
        "z": ("complex64", [4]),
        "wide": ("complex128", [2, 3]),
        "count": ("complex64", []),
    }
    for size in (1, 3, 8):
        twins.call("rotate", drawn(size, 4, seed=size), torch.tensor(0.5))
    x, y = drawn(2, 4, seed=5)
    for _ in range(2):
        twins.call("accumulate", x)
        twins.call("change_parts", y, x.imag.clone())
        twins.call("assign", y.conj())
        twins.call("write_input", x.clone(), y)
    twins.call("spectrum", x.real.repeat(2)[:6])


# Each changes a buffer `z` [4, 3] in place.
STATEMENTS = """
    z.mul_(x); z.add_(x); z.sub_(x, alpha=2); z.div_(x + 3); z.mul_(0.5); z += r; z -= 2j
    z[i] = v; z[1:] = z[:-1].clone(); z[..., 0] = x[..., 1]; z[0, 1] = 2.5; z[k] = 0; z[2] = r[0]
    z[:, 1] *= 1j; z[1:3].add_(v); z[-1].copy_(x[0]); z.t()[0].mul_(2); z[:3].diagonal().add_(1)
    z.copy_(z.flip(0)); z.copy_(x.conj()); z.copy_(r); z.fill_(2 - 1j); z.zero_(); z.neg_()
    z.real.add_(r); z.imag.mul_(r); z.real = r; z.imag = r * 2; z[1].real.copy_(r[0])
    torch.view_as_real(z)[..., 1].mul_(r); torch.view_as_real(z)[0].zero_()
    z.view(-1)[2:5] += 1; z.view(2, 6)[1].mul_(1j); z.unbind(0)[2].mul_(1j); z.select(0, 1).add_(1)
    z.chunk(2)[1].sub_(v); z.narrow(1, 1, 2).mul_(2j); z.transpose(0, 1)[2].copy_(x[:, 0])
    z.index_copy_(0, i, v); z.index_add_(0, i, v); z.index_put_((i,), v); z.index_fill_(0, i, 0.5)
    z.index_copy_(-1, i, x[:, :2]); z.masked_fill_(k, 1j); z.masked_fill_(k, 0.25)
    z.conj().imag.add_(r); z.conj().imag[1:3].mul_(2); z.conj()[2].imag.fill_(3); z.conj().imag = r
    z.conj().imag += 2; z.conj().real.mul_(r); z[1:].conj().imag.t()[0].sub_(1)
    z.conj().mul_(x); z.conj()[0] = 1j; z.exp_(); z.reciprocal_(); z.pow_(2); z.cumsum_(0)
    z.addcmul_(x, x); z.lerp_(x, 0.25); z.conj_physical_(); z.sgn_(); z.tanh_()
"""


class Statements(nn.Module):
    def __init__(self):
        super().__init__()
        listed = [each.strip() for each in STATEMENTS.replace("\n", ";").split(";")]
        self.statements = [each for each in listed if each]
        for number in range(len(self.statements)):
            self.register_buffer(f"z{number}", drawn(4, 3, seed=number))

    def change(self, x, v, r, i, k):
        names = {"x": x, "v": v, "r": r, "i": i, "k": k, "torch": torch}
        for number, statement in enumerate(self.statements):
            exec(statement, {**names, "z": getattr(self, f"z{number}")})

    def read(self):
        return torch.stack([getattr(self, f"z{number}") for number in range(len(self.statements))])


@every_backend
def test_complex_state_is_changed_in_place_as_in_eager(tmp_path, backend):
    def inputs(seed):
        rows = torch.tensor([2, 0]) if seed else torch.tensor([0, 1])
        real = drawn(4, 3, seed=seed, dtype=torch.float32)
        return drawn(4, 3, seed=seed), drawn(2, 3, seed=seed + 1), real, rows, real > 0.5

    methods = {"change": ps.Method("change", inputs(0)), "read": ps.Method("read")}
    twins = Twins(Statements(), methods, tmp_path, backend)
    for seed in range(2):
        twins.call("change", *inputs(seed))
    twins.call("read")


class Listed(nn.Module):
    """Whose methods list what it has."""

    def __init__(self):
        super().__init__()
        self.register_buffer("z", drawn(3))
        self.register_buffer("gain", torch.ones(3))
        self.register_buffer("turn", drawn(3, seed=1), persistent=False)
        self.weight = nn.Parameter(drawn(3, seed=2), requires_grad=False)

    def read(self, x):
        total = sum(each.abs().sum() for each in self.buffers())
        complex_ones = [name for name, each in self.named_parameters() if each.is_complex()]
        return x * total, self.state_dict()["z"] * len(complex_ones), self.get_buffer("turn") * x

    def change(self, x):
        for _, each in self.named_buffers():
            each.mul_(x)
        self.z = self.z + 1j
        return x + 1


@every_backend
def test_what_lists_buffers_finds_complex_ones(tmp_path, backend):
    x = torch.tensor([2.0, -1.0, 0.5])
    methods = {name: ps.Method(name, (x,)) for name in ("read", "change")}
    twins = Twins(Listed(), methods, tmp_path, backend)
    for _ in range(2):
        twins.call("read", x)
        twins.call("change", x)


class Accumulator(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("z", torch.tensor([1 + 2j, -0.5j]))

    def add(self, x):
        self.z += x
        return self.z * 1

    def scale(self, x):
        x *= 2j


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    x = torch.tensor([1j, 2.0])
    program = ps.export(
        Accumulator(),
        {"add": ps.Method("add", (x,)), "scale": ps.Method("scale", (x,))},
        backend="portable",
    )
    assert program.state["z"].preview == "1+2j, -0-0.5j"
    return program.save(tmp_path_factory.mktemp("complex") / "artifact")


def test_a_session_takes_and_gives_complex_arrays(artifact, tmp_path):
    session = ps.load(artifact).session()
    [found] = session.run("add", np.array([1, 1j], np.complex64))
    np.testing.assert_array_equal(found, np.array([2 + 2j, 0.5j], np.complex64))
    assert session.state["z"].dtype == torch.complex64
    before = session.snapshot()
    session.save(tmp_path / "state")
    session.run("add", [1, 2 + 3j])
    session.run("add", x=torch.tensor([1j, 2.0]).conj())
    assert session.state["z"].tolist() == [3 + 1j, 4 + 3.5j]
    session.restore(before)
    assert session.state["z"].tolist() == [2 + 2j, 0.5j]
    session.state["z"] = [0, 1j]
    session.load(tmp_path / "state")
    assert session.state["z"].tolist() == [2 + 2j, 0.5j]
    session.reset()
    assert session.state["z"].tolist() == [1 + 2j, -0.5j]


@pytest.mark.parametrize("view", ["dense", "stepped", "aligned to its parts"])
def test_a_complex_input_that_is_mutated_is_written(artifact, view):
    memory = np.zeros(9, np.float32)
    flat = memory[1:] if view == "aligned to its parts" else memory[:8]
    x = flat.view(np.complex64)[:: 2 if view == "stepped" else 1][:2]
    x[:] = [1, 1j]
    assert ps.load(artifact).session().run("scale", x) == ()
    assert x.tolist() == [2j, -2]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2), "the dtype is float32; it must be complex64"),
        (torch.zeros(2, dtype=torch.complex128), "the dtype is complex128; it must be complex64"),
        (torch.zeros(2, 2), "the dtype is float32; it must be complex64"),
        (torch.zeros(3, dtype=torch.complex64), r"dimension 0 is 3; it must be 2"),
        ([1, "1j"], r"the list is no tensor|is no number"),
        ([1, 1e300j], r"cannot be complex64 without a change of its value"),
    ],
)
def test_what_is_no_such_complex_tensor_is_refused(artifact, x, message):
    session = ps.load(artifact).session()
    with pytest.raises(ps.ContractError, match=f"method 'add', input 0 'x': .*{message}"):
        session.run("add", x)


def test_a_lazy_conjugate_is_no_input_that_is_written(artifact):
    with pytest.raises(ps.ContractError, match="the method writes it, and the array is read-only"):
        ps.load(artifact).session().run("scale", torch.tensor([1j, 2.0]).conj())


class Half(nn.Module):
    def forward(self, x):
        return x.abs()


def test_half_precision_is_refused_in_one_sentence():
    x = torch.zeros(2, dtype=torch.complex32)
    with pytest.raises(
        ps.UnsupportedError, match=re.escape("'forward': an example is complex32, of")
    ):
        ps.export(Half(), {"forward": ps.Method("forward", (x,))})


class Reshaped(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("z", torch.zeros(2, dtype=torch.complex64))

    def forward(self, x):
        self.z = x.real
        return x.abs()


def test_complex_state_keeps_its_type():
    x = torch.zeros(2, dtype=torch.complex64)
    with pytest.raises(ps.ExportError, match=r"from complex64\[2\] to float32\[2\] .*x\.real"):
        ps.export(Reshaped(), {"forward": ps.Method("forward", (x,))})


class Cache(nn.Module):
    """A draw makes valid what the program takes."""

    def forward(self, x):
        torch._assert_async((x.abs() - 1).abs().max() < 1e-3, "x must be turns")
        return x.angle()


def test_a_draw_of_the_users_own_has_complex_arguments():
    def turns(generator, args, kwargs):
        assert args[0].dtype == torch.complex64
        return (torch.polar(torch.ones(4), args[0].real),), kwargs

    method = ps.Method("forward", (TURNS,), draw=turns)
    program = ps.export(Cache(), {"forward": method}, backend="portable")
    tally = program.verification.tallies["forward"]
    assert tally.agreed == tally.drawn > 0
