"""State in attributes, which a program would lose, is refused; caches of constants may stay."""

import array
import collections

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.python.export.state_support import Buffers, X, equals_eager, export, line_of, refusal

# Attributes that only a first call changes


class Remembers(Buffers):
    def __init__(self):
        super().__init__()
        self.first, self.kept, self.limit = True, None, None
        self.options = {"seed": 1}
        self.drawn = torch.zeros(4)

    def start_or_add(self, x):
        if self.first:
            self.first = False
            self.a.copy_(x)
        else:
            self.a.add_(x)
        return self.a * 1

    def keep_input(self, x):
        if self.kept is None:
            self.kept = x.clone()
        return self.a + self.kept

    def keep_index(self, index):
        if self.kept is None:
            self.kept = index * 2
        return self.a[index] + self.kept

    def keep_mask(self, mask):
        if self.kept is None:
            self.kept = mask
        return torch.where(self.kept, self.a, self.b)

    def keep_new(self, x):
        if not hasattr(self, "made"):
            self.made = x.clone()
        return self.a + self.made

    def keep_in_dictionary(self, x):
        if "key" not in self.options:
            self.options["key"] = x * 1
        return self.a + self.options["key"]

    def take_seed(self, x):
        if self.options.pop("seed", None) is None:
            self.a.add_(x)
        return self.a * 1

    def keep_size(self, x):
        if self.limit is None:
            self.limit = x.shape[0]
        return x * self.limit

    def fill_once(self, x):
        if self.first:
            self.drawn.add_(1)
            self.first = False
        return x + self.drawn

    def encode(self, x):
        if self.kept is None:
            self.kept = x.clone()
        return x * 2

    def decode(self, x):
        return x if self.kept is None else x + self.kept

    def keep_state(self, x):
        if self.kept is None:
            self.kept = self.a * 2
        return x + self.kept

    def keep_constant(self, x):
        if self.kept is None:
            self.kept = self.b * 2
        self.a.add_(x)
        return self.a + self.kept

    def table_of_size(self, x):
        if x.shape[0] not in self.options:
            self.options[x.shape[0]] = torch.arange(float(x.shape[0]))
        self.a.add_(self.options[x.shape[0]] * x)
        return self.a * 1

    def zeros_once(self, x):
        if not hasattr(self, "zeros"):
            self.zeros = torch.zeros(4)
        self.a.add_(x * 2 + self.zeros)
        return self.a * 1

    def saturate(self, x):
        self.limit = 1
        self.a.mul_(0.5 if self.limit == 1 else 2.0).add_(x)
        return self.a * 1


@pytest.mark.parametrize(
    ("method", "attribute", "line", "example"),
    [
        ("start_or_add", "first", "self.first = False", X),
        ("keep_input", "kept", "self.kept =", X),
        ("keep_index", "kept", "self.kept =", torch.tensor([1, 2])),
        ("keep_mask", "kept", "self.kept =", X > 2),
        ("keep_new", "made", "self.made =", X),
        ("keep_in_dictionary", "options", None, X),
        ("take_seed", "options", None, X),
    ],
)
def test_an_attribute_that_a_first_call_changes_and_a_later_one_reads_is_refused(
    method, attribute, line, example
):
    message = refusal(Remembers(), **{method: (example,)})
    assert f"the first call of method '{method}' changes the attribute '{attribute}'" in message
    assert f"output 0 of method '{method}' is another" in message
    assert "make it a buffer" in message
    if line is not None:
        assert line_of(getattr(Remembers, method), line) in message


def test_a_size_that_a_first_call_keeps_is_refused():
    method = ps.Method("keep_size", (X,), dynamic_shapes=({0: Dim("n", min=1, max=8)},))
    assert "changes the attribute 'limit' of Remembers from None to 4" in refusal(
        Remembers(), keep_size=method
    )


def test_a_tensor_of_an_attribute_that_a_first_call_changes_in_place_is_refused():
    model = Remembers()
    message = refusal(model, fill_once=(X,))
    assert "method 'fill_once' changes the attribute 'drawn' of Remembers" in message
    assert model.drawn.tolist() == [0.0] * 4


@pytest.mark.parametrize("order", [("encode", "decode"), ("decode", "encode")])
def test_an_attribute_that_one_method_keeps_and_another_reads_is_refused(order):
    message = refusal(Remembers(), **dict.fromkeys(order, (X,)))
    assert "the first call of method 'encode' changes the attribute 'kept'" in message
    assert "output 0 of method 'decode' is another" in message


@pytest.mark.parametrize("order", [("keep_state", "add"), ("add", "keep_state")])
def test_an_attribute_that_is_computed_from_state_is_refused(order):
    message = refusal(Remembers(), **dict.fromkeys(order, (X,)))
    assert "the first call of method 'keep_state' changes the attribute 'kept'" in message


@pytest.mark.parametrize(
    "method", ["keep_constant", "table_of_size", "zeros_once", "saturate", "keep_state"]
)
def test_a_cache_of_what_no_call_changes_is_no_state(tmp_path, method):
    equals_eager(Remembers(), [(method, X), (method, X * 3)], tmp_path, **{method: (X,)})


class Scratch(Buffers):
    """Keeps tensors in attributes that are empty at first."""

    def __init__(self):
        super().__init__()
        self.last = None

    def centred(self, x):
        self.mean = x.mean()
        self.a.add_(self.mean)
        return (x - self.mean) * self.b + self.mean

    def previous(self, x):
        result = x if self.last is None else x + self.last
        self.last = x * 2
        return result

    def set_last(self, x):
        self.last = x * 2
        return self.last + 1

    def read_last(self, x):
        return x if self.last is None else x + self.last


def test_an_attribute_that_each_call_sets_before_it_reads_it_is_no_state(tmp_path):
    calls = [("centred", X), ("centred", X * 3), ("set_last", X), ("centred", X * 2)]
    equals_eager(Scratch(), calls, tmp_path, centred=(X,), set_last=(X,))


def test_an_attribute_that_is_read_before_it_is_set_is_refused():
    message = refusal(Scratch(), previous=(X,))
    assert "method 'previous' changes the attribute 'last' of Scratch" in message
    assert line_of(Scratch.previous, "self.last =") in message


@pytest.mark.parametrize("order", [("set_last", "read_last"), ("read_last", "set_last")])
def test_an_attribute_that_one_method_sets_and_another_reads_is_refused(order):
    message = refusal(Scratch(), **dict.fromkeys(order, (X,)))
    assert "the first call of method 'set_last' changes the attribute 'last'" in message
    assert "output 0 of method 'read_last' is another" in message


class StartsByBuffer(Buffers):
    """The rewrite of ``Remembers.start_or_add``."""

    def __init__(self):
        super().__init__()
        self.register_buffer("first", torch.tensor(True))

    def start_or_add(self, x):
        self.a.copy_(torch.where(self.first, x, self.a + x))
        self.first.fill_(False)
        return self.a * 1


def test_a_flag_as_a_buffer_does_what_the_refused_attribute_did(tmp_path):
    calls = [("start_or_add", X), ("start_or_add", X * 2), ("start_or_add", X)]
    equals_eager(StartsByBuffer(), calls, tmp_path, start_or_add=(X,))


def test_state_beside_a_mask_of_large_numbers_is_seen():
    class Ready(nn.Module):
        ready = False

        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def encode(self, x):
            self.ready = True
            self.total.add_(x)
            return x * 1

        def decode(self, x):
            return torch.where(x > 0, x * (2.0 if self.ready else 1.0), -1e9)

    x = torch.tensor([1.0, -2.0, 3.0])
    methods = {name: ps.Method(name, (x,)) for name in ("encode", "decode")}
    with pytest.raises(ps.ExportError, match="ready"):
        ps.export(Ready(), methods, backend="portable")


# Attributes that hold arrays


class HoldsArrays(Buffers):
    def __init__(self):
        super().__init__()
        self.seen, self.objects = np.zeros(1), np.array([None], dtype=object)
        self.raw, self.typed = bytearray(2), array.array("l", [0])
        self.recent = collections.deque([0], maxlen=2)
        self.counts = collections.Counter(a=3)
        self.order = collections.OrderedDict(a=1, b=2)
        self.known = collections.defaultdict(int, a=1)

    def count_in_numpy(self, x):
        self.seen += 1
        return x * 2

    def keep_object(self, x):
        self.objects[0] = [self.objects[0]]
        return x * 2

    def count_in_bytes(self, x):
        self.raw[1] += 1
        return x * 2

    def count_in_array(self, x):
        self.typed[0] += 1
        return x * 2

    def remember(self, x):
        self.recent.append(self.recent[-1] + 1)
        return x * 2

    def count_by_name(self, x):
        self.counts["a"] += 1
        return x * 2

    def fill_once(self, x):
        self.seen[0], self.raw[0] = 3, 3
        self.counts["b"] = 1 + self.known["b"]
        self.order.move_to_end("a")
        self.recent.clear()
        return x * 2

    def held(self):
        return (
            *(self.seen.tolist(), self.objects.tolist(), bytes(self.raw)),
            *(self.typed.tolist(), list(self.recent)),
            *(list(each.items()) for each in (self.counts, self.order, self.known)),
        )


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("count_in_numpy", "seen"),
        ("keep_object", "objects"),
        ("count_in_bytes", "raw"),
        ("count_in_array", "typed"),
        ("remember", "recent"),
        ("count_by_name", "counts"),
    ],
)
def test_a_changed_array_is_refused_and_put_back(method, name):
    model = HoldsArrays()
    before = model.held()
    message = refusal(model, **{method: (X,)})
    assert f"changes the attribute '{name}' of HoldsArrays" in message
    assert model.held() == before


def test_an_array_that_a_first_call_fills_is_emptied_again():
    model = HoldsArrays()
    before = model.held()
    export(model, {"fill_once": (X,)})
    assert model.held() == before
