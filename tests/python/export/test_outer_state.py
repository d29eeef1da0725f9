"""State that a module keeps outside of itself is refused."""

import pytest
import torch

from tests.python.export.state_support import Buffers, X, refusal

KEPT = {"calls": 0, "sum": torch.zeros(4)}


class KeepsOutside(Buffers):
    calls = 0

    def count_globally(self, x):
        KEPT["calls"] += 1
        return x * KEPT["calls"]

    def add_globally(self, x):
        KEPT["sum"] = KEPT["sum"] + x
        return KEPT["sum"] * 1

    def add_in_place(self, x):
        KEPT["sum"].add_(x)
        return KEPT["sum"] * 1

    def count_in_class(self, x):
        type(self).calls += 1
        self.a.add_(x * type(self).calls)

    def keep_in_default(self, x, kept=[]):  # noqa: B006
        kept.append(x)
        return sum(kept)


@pytest.mark.parametrize(
    ("method", "what"),
    [
        ("count_globally", "output 0"),
        ("add_globally", "output 0"),
        ("add_in_place", "output 0"),
        ("count_in_class", "buffer 'a'"),
        ("keep_in_default", "output 0"),
    ],
)
def test_state_outside_of_the_module_is_refused_and_stays_real(method, what):
    message = refusal(KeepsOutside(), **{method: (X,)})
    assert f"method '{method}' gives something else when it is called again" in message
    assert f"{what} differs" in message
    assert "it keeps state outside of KeepsOutside" in message and "a buffer" in message
    kept = [KEPT["sum"], *KeepsOutside.keep_in_default.__defaults__[0]]
    assert all(type(tensor) is torch.Tensor for tensor in kept)


OUTER = {}


class MethodsShareAGlobal(Buffers):
    def encode(self, x):
        OUTER["kept"] = x * 2
        return x + 1

    def encode_size(self, x):
        OUTER["kept"] = x.shape[0]
        return x + 1

    def decode(self, x):
        return x + OUTER["kept"]

    def get(self, x):
        return OUTER["kept"] * 1


@pytest.mark.parametrize(
    "order", [("encode", "decode"), ("decode", "encode"), ("encode", "get"), ("get", "encode")]
)
def test_a_global_that_one_method_writes_and_another_reads_is_refused(order):
    OUTER["kept"] = torch.zeros(4)
    message = refusal(MethodsShareAGlobal(), **dict.fromkeys(order, (X,)))
    assert "keep state outside of MethodsShareAGlobal" in message
    assert all(f"'{name}'" in message for name in order) and "make it a buffer" in message


def test_a_global_number_that_one_method_writes_and_another_reads_is_refused():
    OUTER["kept"] = 0
    message = refusal(MethodsShareAGlobal(), decode=(X,), encode_size=(X,))
    assert "keep state outside of MethodsShareAGlobal" in message
