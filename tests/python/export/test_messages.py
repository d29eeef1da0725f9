"""Ordinary modules that an export refuses: the message has the user's line, the cause, a way out.

What the rewrites do is shown by the example database (tests/python/export/test_examples.py).
"""

import copy
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

import polystate as ps

X = torch.tensor([1.0, -2.0, 3.0, 4.0])
ROWS = torch.ones(3, 4)
BATCH = ({0: Dim("batch", min=2, max=8)},)


class Ordinary(nn.Module):
    """Modules that users write, one a method."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.weight = nn.Parameter(torch.ones(4))
        self.log = []
        self.cache = {"key": torch.zeros(4)}

    def branch(self, x):
        if x.sum() > 0:
            return x * 2
        return x * 3

    def choose(self, x):
        return x * 2 if x.sum() > 0 else x * 3

    def loop(self, x):
        while x.norm() > 1:
            x = x / 2
        return x

    def count(self, x):
        for _ in range(int(x[0])):
            x = x * 2
        return x

    def assertion(self, x):
        assert x.sum() > 0, "a positive sum"
        return x * 2

    def refuse(self, x):
        if torch.isnan(x).any():
            raise ValueError("not a number")
        return x * 2

    def use_numpy(self, x):
        return x + torch.from_numpy(np.sin(x.numpy()))

    def append(self, x):
        self.log.append(x)
        return torch.stack(self.log).sum(0)

    def keep_in_dictionary(self, x):
        self.cache["key"] = self.cache["key"] + x
        return self.cache["key"] * 1

    def change_weight(self, x):
        self.weight.add_(x)
        return x * self.weight

    def change_data(self, x):
        self.total.data = self.total + x
        return self.total * 1

    def noise(self, x):
        return x + torch.randn_like(x)

    def view_in_branch(self, x):
        return torch.cond(x.sum() > 0, lambda x: x[:2], lambda x: x[2:], (x,))

    def order_in_branch(self, x):
        return torch.cond(
            x.sum() > 0,
            lambda x: x.view(2, 2) + 1,
            lambda x: x.view(2, 2).t().contiguous().t(),
            (x,),
        )

    def complex_in_branch(self, x):
        return torch.cond(
            x.sum() > 0, lambda x: torch.view_as_real(torch.fft.fft(x)).sum(1), torch.clone, (x,)
        )

    def part_in_branch(self, x):
        part = self.total[1:]

        def count(x):
            self.total.add_(x)
            return x + part.sum()

        return torch.cond(x.sum() > 0, count, torch.clone, (x,))

    def number_in_branch(self, x):
        k = (x > 0).sum().item()
        return torch.cond(x.sum() > 0, lambda x: x * k, torch.clone, (x,))

    def join_elements(self, x):
        return torch.tensor([x[0], x[1]])

    def copy_object(self, x):
        return copy.copy(x) * 2

    def derive(self, x):
        return torch.func.jacfwd(lambda z: z * z)(x)

    def reshape_input(self, x):
        x.unsqueeze_(0)
        return x + 1

    def transpose_input(self, x):
        x.unsqueeze_(0).t_().squeeze_()
        x.resize_(2, 2)
        return x.t_() + 1

    def replace_input(self, x):
        x.data = x * 2
        return x * 1

    def slice_by_number(self, x):
        n = x[0].to(torch.int64).item()
        return x[:n].sum()

    def size_by_number(self, x):
        return torch.zeros(x[0].to(torch.int64).item())

    def gradient(self, x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad((x * x).sum(), x)[0]

    def sparse_result(self, x):
        return x.to_sparse()

    def gpu(self, x):
        return x.cuda() * 2

    def quantized(self, x):
        return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).dequantize()

    def ctc(self, x):
        scores = x.reshape(4, 1, 1).log_softmax(-1)
        return functional.ctc_loss(scores, torch.zeros(1, 1, dtype=torch.int64), (4,), (1,))

    def branch_on_size(self, x):
        return x * 2 if x.shape[0] > 4 else x * 3

    def fixed_reshape(self, x):
        return x.reshape(3, 2, 2)

    def fixed_operand(self, x):
        return x + torch.ones(3, 4)

    def loop_over_rows(self, x):
        return torch.stack([row * 2 for row in x])


# The method, a part of the line, a part of what is wrong, a part of what to do.
PROBLEMS = [
    ("branch", "if x.sum() > 0:", "two paths by the values", "torch.where(x.sum() > 0, a, b)"),
    ("choose", "return x * 2 if", "two paths by the values", "torch.cond(condition, f, g"),
    ("loop", "while x.norm() > 1:", "how often this loop runs", "torch.where(x.norm() > 1, "),
    ("count", "for _ in range(int(x[0])):", "how often this loop runs", "torch.where(i < n, "),
    (
        "assertion",
        "assert x.sum() > 0",
        "asserts something of the values",
        "torch._assert_async(x.sum() > 0, 'a positive sum')",
    ),
    (
        "refuse",
        "if torch.isnan(x).any():",
        "raises an exception because of the values",
        "torch._assert_async(torch.logical_not(torch.isnan(x).any()), 'not a number')",
    ),
    ("use_numpy", "np.sin(x.numpy())", "leaves PyTorch for NumPy", "np.sin: torch.sin"),
    ("append", "self.log.append(x)", "changes the attribute 'log'", "register_buffer('log'"),
    ("keep_in_dictionary", 'self.cache["key"] =', "attribute 'cache'", "register_buffer('cache_k'"),
    ("change_weight", "self.weight.add_(x)", "the parameter 'weight'", "register_buffer('weight'"),
    ("change_data", "self.total.data =", "other memory", "self.total.copy_(...)"),
    ("noise", "torch.randn_like(x)", "draws random numbers", "noise of the caller"),
    ("view_in_branch", "return torch.cond(", "tensors of different form", "x[:2].clone()"),
    ("order_in_branch", "return torch.cond(", "tensors of different form", "x.t().contiguous()"),
    ("complex_in_branch", "return torch.cond(", "complex numbers", "torch.where(p, a, b)"),
    ("part_in_branch", "return torch.cond(", "by another name", "take the part within the branch"),
    ("number_in_branch", "return torch.cond(", "uses a number", "make the tensor an operand"),
    ("join_elements", "return torch.tensor(", "the values of others", "torch.stack([a, b])"),
    ("copy_object", "copy.copy(x)", "an object of Python's", "x.clone()"),
    ("derive", "torch.func.jacfwd(", "computes gradients", "torch.enable_grad()"),
    ("reshape_input", "x.unsqueeze_(0)", "its argument [0] from float32[4]", "make a new tensor"),
    ("transpose_input", "x.resize_(2, 2)", "to float32[2, 2]", "make a new tensor"),
    ("replace_input", "x.data = x * 2", "the memory of its argument", "make a new tensor"),
    ("slice_by_number", "x[:n].sum()", "its range is not known", "torch._check(k >= 0)"),
    ("size_by_number", "return torch.zeros(", "has no maximum", "torch._check(n <= 100)"),
    ("gradient", "torch.autograd.grad(", "computes gradients", "write the derivative"),
    ("sparse_result", "return x.to_sparse()", "a tensor that is sparse", "x.to_dense()"),
    ("gpu", "x.cuda()", "asks for a GPU", ".to(x.device)"),
    ("quantized", "torch.quantize_per_tensor(", "has no kernel", "compute it in the caller"),
    ("ctc", "functional.ctc_loss(", "depends on the values of a tensor", "torch.where(mask, x, 0)"),
]
PROBLEMS_OF_SIZES = [
    ("branch_on_size", "if x.shape[0] > 4", "at other sizes of 'batch'", "narrow the Dim"),
    ("fixed_reshape", "x.reshape(3, 2, 2)", "fixes a size", "x.shape[0], or -1 in a reshape"),
    ("fixed_operand", "x + torch.ones(3, 4)", "fixes a size", "take the size of the tensor"),
    ("loop_over_rows", "for row in x", "fixes a size", "no Python loop over that dimension"),
]

# PyTorch's own: symbols, frames of its files, advice to its developers.
NOT_OF_THE_USER = re.compile(r"\b[su]\d+\b|site-packages|TORCH_LOGS|unhinted|FakeTensor|proxy")


def refusal(capfd, method, x, dynamic_shapes=None):
    with pytest.raises(ps.Error) as refused:
        entry = ps.Method(method, (x,), dynamic_shapes=dynamic_shapes)
        ps.export(Ordinary(), {"step": entry}, backend="portable")
    assert capfd.readouterr() == ("", "")
    message = str(refused.value)
    assert "method 'step'" in message or "the program cannot run" in message
    assert not NOT_OF_THE_USER.search(message)
    assert refused.value.__cause__ is None and refused.value.__suppress_context__
    return message


@pytest.mark.parametrize(
    ("method", "line", "cause", "rewrite"), PROBLEMS, ids=[case[0] for case in PROBLEMS]
)
def test_a_message_has_the_line_the_cause_and_a_rewrite(capfd, method, line, cause, rewrite):
    message = refusal(capfd, method, X)
    assert re.search(re.escape(__file__) + r":\d+: .*" + re.escape(line), message)
    assert cause in message
    assert rewrite in message


@pytest.mark.parametrize(
    ("method", "line", "cause", "rewrite"),
    PROBLEMS_OF_SIZES,
    ids=[case[0] for case in PROBLEMS_OF_SIZES],
)
def test_a_message_on_sizes_has_the_line_and_a_rewrite(capfd, method, line, cause, rewrite):
    message = refusal(capfd, method, ROWS, BATCH)
    assert re.search(re.escape(__file__) + r":\d+: .*" + re.escape(line), message)
    assert cause in message
    assert rewrite in message


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (X.to_sparse(), "the example [0] is sparse, and tensors of programs are dense"),
        (torch.empty(4, device="meta"), "the example [0] is on the device 'meta'"),
    ],
)
def test_unusual_examples_are_refused(example, told):
    with pytest.raises(ps.ContractError) as refused:
        ps.export(Ordinary(), {"step": ps.Method("branch", (example,))}, backend="portable")
    assert told in str(refused.value)


class Cached(nn.Module):
    """A cache of transformers', whose tensors are buffers, too."""

    def __init__(self):
        super().__init__()
        config = LlamaConfig(
            hidden_size=8,
            intermediate_size=8,
            num_hidden_layers=1,
            num_attention_heads=1,
            num_key_value_heads=1,
            vocab_size=8,
        )
        self.model = LlamaForCausalLM(config).eval()
        self.cache = StaticCache(config=config, max_cache_len=4)

    def step(self, ids):
        return self.model(ids, past_key_values=self.cache).logits

    def with_buffers(self):
        self.cache.early_initialization(1, 1, 8, torch.float32, torch.device("cpu"))
        self.register_buffer("keys", self.cache.layers[0].keys)
        return self


@pytest.mark.parametrize("make", [Cached, lambda: Cached().with_buffers()])
def test_a_cache_of_transformers_is_told_what_exports_one(make):
    method = ps.Method("step", (torch.tensor([[1]]),))
    with pytest.raises(ps.ExportError, match=r"'cache.*ps\.export_pretrained or"):
        ps.export(make(), {"step": method}, backend="portable")


def test_weights_without_values_are_refused():
    model = nn.Linear(4, 4, device="meta")
    with pytest.raises(ps.ContractError, match="the parameter 'weight' is on the device 'meta'"):
        ps.export(model, {"step": ps.Method("forward", (X,))}, backend="portable")


def test_what_torch_raised_is_kept_for_developers():
    with pytest.raises(ps.ExportError) as refused:
        ps.export(Ordinary(), {"step": ps.Method("branch", (X,))}, backend="portable")
    assert type(refused.value.__context__).__name__ == "GuardOnDataDependentSymNode"


def test_a_report_says_which_examples_are_fixed():
    def scale(x, times, name):
        return x * times

    method = ps.Method(scale, (X, 3), kwargs={"name": "a"})
    program = ps.export(Ordinary(), {"scale": method}, backend="portable", draws=ps.Draws(count=1))
    assert "fixed at the export: times = 3, name = 'a'" in program.report()


def test_without_torch_the_command_that_installs_it_is_told():
    code = "import sys; sys.modules['torch'] = None; import polystate; polystate.export"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith(
        "ImportError: polystate.export needs torch, which is not installed: "
        "pip install 'polystate[export]'\n"
    )


def test_importing_the_exporter_prints_nothing():
    code = "import polystate; polystate.export"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
