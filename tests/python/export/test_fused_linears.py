"""Products of packed weights do what follows them."""

import contextlib

import pytest
import torch
from torch import nn

import polystate as ps
from polystate.export.packing import packed, quantized

WIDTH = 64


# The operator of linears with each.
QUANTIZATIONS = {None: "packed_linear", "q8": "quantized_linear", "q8_0": "groupwise_linear"}


def in_float32(model, quantization):
    """Packs what the export does not quantize."""
    return packed(model) if quantization is None else contextlib.nullcontext()


def session(program, path):
    return ps.load(program.save(path / "artifact")).session()


class Followed(nn.Module):
    """What follows a linear, by name: the first six a kernel can do itself."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(WIDTH, WIDTH, bias=False)
        self.biased = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("row", torch.randn(1, 1, WIDTH))
        self.register_buffer("column", torch.randn(1, 5, 1))
        self.requires_grad_(False)

    def relu(self, x):
        return torch.relu(self.linear(x))

    def silu(self, x):
        return nn.functional.silu(self.linear(x))

    def residual(self, x):
        return x + nn.functional.dropout(self.linear(x), training=False)

    def add_row(self, x):
        return self.linear(x) + self.row

    def change_shape(self, x):
        return self.linear(x).reshape(-1, WIDTH)

    def all_of_it(self, x):
        return nn.functional.silu(self.linear(x) + self.row) + x

    def add_column(self, x):
        return self.linear(x) + self.column

    def add_in_part(self, x):
        return torch.add(self.linear(x), x, alpha=0.5)

    def add_itself(self, x):
        y = self.linear(x)
        return y + y

    def add_product(self, x):
        return self.linear(x) + self.linear(2 * x)

    def use_twice(self, x):
        y = self.linear(x)
        return torch.relu(y), y

    def activate_sum(self, x):
        return torch.relu(self.linear(x) + x)

    def add_number(self, x):
        return self.linear(x) + 1.5

    def add_larger(self, x):
        return self.linear(x[0]) + x

    def split_rows(self, x):
        return self.linear(x).reshape(x.shape[0], x.shape[1], 2, WIDTH // 2)

    def add_row_to_activations(self, x):
        return torch.relu(self.linear(x)) + self.row

    def activate_twice(self, x):
        return torch.relu(nn.functional.silu(self.linear(x)))

    def add_second_row(self, x):
        return self.biased(x) + self.row

    def change_shape_of_a_sum(self, x):
        return (self.linear(x) + x).reshape(-1, WIDTH)

    def change_shape_of_columns(self, x):
        return self.linear(x.transpose(0, 1)).flatten(0, 1)

    def branch(self, x):
        return torch.cond(
            x[0, 0, 0] > 0, lambda x: torch.relu(self.linear(x)), lambda x: self.linear(x) + x, (x,)
        )


class Accumulator(nn.Module):
    """A state to which products are added, large enough that it matters where."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.requires_grad_(False)
        self.register_buffer("total", torch.zeros(512, WIDTH))

    def forward(self, x):
        self.total.add_(self.linear(x))
        return self.total[:1] * 1


@pytest.mark.parametrize("quantization", QUANTIZATIONS)
def test_products_are_added_to_state_in_place(tmp_path, quantization):
    model, x = Accumulator(), torch.randn(512, WIDTH, generator=torch.Generator().manual_seed(1))
    methods = {"forward": ps.Method("forward", (x,))}
    with in_float32(model, quantization):
        program = ps.export(model, methods, backend="portable", quantization=quantization)
    (write,) = program.methods["forward"].writes
    assert write.update == "in_place"
    running = session(program, tmp_path)
    once, twice = (running.run("forward", x)[0] for _ in range(2))
    torch.testing.assert_close(twice, 2 * once)
    torch.testing.assert_close(once, model.linear(x)[:1], rtol=0.05, atol=0.05)


FUSED = ["relu", "silu", "residual", "add_row", "change_shape", "all_of_it"]
NOT_FUSED = [
    "add_column",
    "add_in_part",
    "add_itself",
    "add_product",
    "use_twice",
    "activate_sum",
    "add_number",
    "add_larger",
    "split_rows",
    "add_row_to_activations",
    "activate_twice",
    "add_second_row",
    "change_shape_of_a_sum",
    "change_shape_of_columns",
    "branch",
]


# Of "q8_0" what is fused: what is not does not depend on the kind of 8 bits.
CASES = [(name, kind) for name in FUSED + NOT_FUSED for kind in (None, "q8")]
CASES += [(name, "q8_0") for name in FUSED]


@pytest.mark.parametrize(("name", "quantization"), CASES)
def test_what_follows_a_product_is_computed(tmp_path, name, quantization):
    model = Followed()
    x = torch.randn(2, 5, WIDTH, generator=torch.Generator().manual_seed(1))
    shapes = {"x": {0: torch.export.Dim("batch", max=4)}}
    method = ps.Method(name, (x,), dynamic_shapes=shapes)
    with in_float32(model, quantization):
        program = ps.export(model, {name: method}, quantization=quantization)
    for sample in (x, x[:1], torch.cat([x, -x])):
        with quantized(model, quantization):
            expected = getattr(model, name)(sample)
        expected = expected if isinstance(expected, tuple) else (expected,)
        found = session(program, tmp_path).run(name, sample)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    if name in FUSED:
        views = {"executorch_prim::et_view.default", "aten::sym_size.int"}
        operators = set(program.manifest.program.operators) - views
        assert operators == {f"polystate::{QUANTIZATIONS[quantization]}.out"}
        assert program.manifest.program.delegates == []
