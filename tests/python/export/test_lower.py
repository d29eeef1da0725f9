"""Programs that a plain lowering gets wrong or refuses."""

import pytest
import torch
from torch import nn

import polystate as ps

BACKENDS = pytest.mark.parametrize("backend", ["portable", "xnnpack"])


def calls(model, name, x, directory, backend):
    """What two calls of a session return, and the module's results."""
    program = ps.export(model, {name: ps.Method(name, (x,))}, backend=backend)
    session = ps.load(program.save(directory / "artifact")).session()
    found = [session.run(name, x) for _ in range(2)]
    with torch.no_grad():
        expected = [copies(getattr(model, name)(x)) for _ in range(2)]
    return found, expected


def copies(results):
    return [t.clone() for t in (results if isinstance(results, tuple) else (results,))]


class Vectors(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.linear(x)), self.linear(x)


class Copies(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(1, 4))
        self.requires_grad_(False)

    def forward(self, x):
        return torch.relu(self.linear(x))

    def return_a_copy_of_new_state(self, x):
        self.total.add_(x)
        return self.total.clone()

    def return_a_value_and_its_copies(self, x):
        y = self.linear(x) + self.linear.bias
        return y, y.clone(), y.clone()

    def return_only_a_copy(self, x):
        return self.linear(x).clone()

    def call_forward(self, x):
        self.total.add_(self.forward(x))
        return self.total * 1

    def call_the_module(self, x):
        self.total.add_(self(x))
        return self.total * 1


@pytest.mark.parametrize(
    "name",
    [
        "return_a_copy_of_new_state",
        "return_a_value_and_its_copies",
        "return_only_a_copy",
        "call_forward",
        "call_the_module",
    ],
)
@BACKENDS
def test_methods_equal_the_module(tmp_path, backend, name):
    x = torch.randn(1, 4, generator=torch.Generator().manual_seed(0))
    found, expected = calls(Copies(), name, x, tmp_path, backend)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(list(mine), theirs)


@BACKENDS
def test_a_linear_takes_a_vector(tmp_path, backend):
    x = torch.randn(4, generator=torch.Generator().manual_seed(0))
    (found, _), (expected, _) = calls(Vectors(), "forward", x, tmp_path, backend)
    torch.testing.assert_close(list(found), expected)


def test_a_module_may_be_a_target(tmp_path):
    model, x = Vectors(), torch.randn(2, 4)
    program = ps.export(model, {"run": ps.Method(model.linear, (x,))}, backend="portable")
    (found,) = ps.load(program.save(tmp_path / "artifact")).session().run("run", x)
    torch.testing.assert_close(found, model.linear(x).detach())


class FeedForward(nn.Module):
    """As in GPT-2: between the linears stands a GELU by tanh."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.rise, self.fall = nn.Linear(16, 64), nn.Linear(64, 16)

    def approximate(self, x):
        return self.fall(nn.functional.gelu(self.rise(x), approximate="tanh"))

    def exact(self, x):
        return self.fall(nn.functional.gelu(self.rise(x)))

    def only_activations(self, x):
        narrow = x.bfloat16()
        return (
            nn.functional.gelu(x, approximate="tanh"),
            nn.functional.gelu(x),
            nn.functional.gelu(narrow, approximate="tanh").float(),
        )


@pytest.mark.parametrize("name", ["approximate", "exact", "only_activations"])
@BACKENDS
def test_gelus_are_computed_as_they_are_asked_for(tmp_path, backend, name):
    x = 3 * torch.randn(4, 16, generator=torch.Generator().manual_seed(0))
    (found, _), (expected, _) = calls(FeedForward(), name, x, tmp_path, backend)
    torch.testing.assert_close(list(found), expected, rtol=1e-5, atol=1e-5)


class ChannelsLast(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        order = torch.channels_last
        self.convolution = nn.Conv2d(2, 3, 3, padding=1).to(memory_format=order)
        counted = torch.arange(24.0).view(1, 2, 3, 4)
        self.register_buffer("total", counted.to(memory_format=order))

    def convolve(self, x):
        return self.convolution(x)

    def accumulate(self, x):
        self.total.mul_(x)
        return self.total.sum(1), self.total * 1


@pytest.mark.parametrize("name", ["convolve", "accumulate"])
@BACKENDS
def test_weights_and_state_may_be_channels_last(tmp_path, backend, name):
    model = ChannelsLast()
    x = torch.randn(1, 2, 3, 4, generator=torch.Generator().manual_seed(0))
    found, expected = calls(model, name, x, tmp_path, backend)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(list(mine), theirs)
    assert model.total.is_contiguous(memory_format=torch.channels_last)


class OfAnyStrides(nn.Module):
    """Adds to a state, and reads a constant, that have the same few elements or none."""

    def __init__(self, value):
        super().__init__()
        self.register_buffer("total", value)
        self.constant = value.clone().as_strided_(value.size(), value.stride())

    def accumulate(self, x):
        self.total.add_(1)
        return self.total + x, self.constant - x, torch.triu_indices(2, 2, 3)


@pytest.mark.parametrize(
    ("sizes", "strides"),
    [((2, 0), (0, 0)), ((0, 3), (0, 1)), ((3, 2, 0), (1, 3, 3)), ((1, 3), (0, 1))],
)
@BACKENDS
def test_strides_of_what_has_no_two_elements_along_them_may_be_any(
    tmp_path, backend, sizes, strides
):
    value = torch.tensor([0.5, -1.5, 2.5]).as_strided(sizes, strides)
    found, expected = calls(OfAnyStrides(value), "accumulate", torch.tensor(0.3), tmp_path, backend)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(list(mine), list(theirs))


class Orders(nn.Module):
    """Transposes that undo one another, by name, and those that do not."""

    def swap_back(self, x):
        return torch.relu(x).transpose(1, 2).transpose(-1, 1).exp()

    def permute_back(self, x):
        return torch.relu(x).permute(2, 0, 1).permute(1, 2, 0).exp()

    def swap_after_a_permutation(self, x):
        return torch.relu(x).permute(0, 2, 1).transpose(2, 1).exp()

    def turn_twice(self, x):
        return torch.relu(x).permute(2, 0, 1).permute(2, 0, 1).exp()

    def swap_others(self, x):
        return torch.relu(x).transpose(0, 1).transpose(1, 2).exp()

    def return_what_it_got(self, x):
        return x.transpose(0, 1).transpose(0, 1)


@pytest.mark.parametrize("name", [name for name in vars(Orders) if not name.startswith("_")])
@BACKENDS
def test_transposes_that_undo_one_another_are_dropped(tmp_path, backend, name):
    x = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    found, expected = calls(Orders(), name, x, tmp_path, backend)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, tuple(other))
    program = ps.export(Orders(), {name: ps.Method(name, (x,))}, backend="portable")
    operators = set(program.manifest.program.operators)
    keeps = name in ("turn_twice", "swap_others")
    turning = {"aten::transpose_copy.int_out", "polystate_faster::permute_copy.out"}
    assert bool(operators & turning) == keeps


class Views(nn.Module):
    def around(self, x):
        return torch.relu(x.view(6, 4)).tanh().view(2, 12)

    def alone(self, x):
        return x.view(6, 4).view(2, 12)

    def inside(self, x):
        return torch.relu(x.tanh().view(6, 4)).tanh()

    def copied(self, x):
        return x.view(6, 4).clone()


@pytest.mark.parametrize(
    ("name", "delegates"), [("around", 1), ("alone", 0), ("inside", 1), ("copied", 0)]
)
def test_views_at_the_border_of_a_delegate_stay_outside(tmp_path, name, delegates):
    x = torch.randn(3, 8, generator=torch.Generator().manual_seed(0))
    found, expected = calls(Views(), name, x, tmp_path, "xnnpack")
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, tuple(other))
    program = ps.export(Views(), {name: ps.Method(name, (x,))})
    assert len(program.manifest.program.delegates) == delegates
    has_view = bool({o for o in program.manifest.program.operators if "view" in o})
    assert has_view == (name != "inside")


class Attention(nn.Module):
    """PyTorch's own attention, in its forms."""

    def plain(self, x):
        return nn.functional.scaled_dot_product_attention(x, x, x)

    def causal(self, x):
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)

    def masked(self, x):
        mask = x[:, :1, :, :1] * 4
        return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask, scale=0.3)

    def grouped(self, x):
        return nn.functional.scaled_dot_product_attention(x, x[:, :1], x[:, :1], enable_gqa=True)

    def dropping(self, x):
        return nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.1)


@BACKENDS
@pytest.mark.parametrize("name", ["plain", "causal", "masked", "grouped"])
def test_attention_of_any_length(tmp_path, backend, name):
    model = Attention()
    batch, length = (torch.export.Dim(n, min=1, max=9) for n in ("batch", "length"))
    method = ps.Method(name, (torch.zeros(2, 4, 5, 8),), dynamic_shapes=({0: batch, 2: length},))
    program = ps.export(model, {name: method}, backend=backend)
    session = ps.load(program.save(tmp_path / "artifact")).session()
    for shape in ((1, 4, 1, 8), (2, 4, 5, 8), (9, 4, 9, 8)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
        torch.testing.assert_close(session.run(name, x)[0], getattr(model, name)(x))


def test_attention_with_dropout_is_refused():
    method = ps.Method("dropping", (torch.zeros(2, 4, 5, 8),))
    with pytest.raises(ps.UnsupportedError, match="give attention dropout_p=0"):
        ps.export(Attention(), {"dropping": method})
