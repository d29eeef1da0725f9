"""What the tests of hidden state have in common: a module, its export, and the refusal of one."""

import inspect

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import polystate as ps

X = torch.tensor([1.0, 2.0, 3.0, 4.0])


class Buffers(nn.Module):
    """Two buffers, one of which a method changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(4))
        self.register_buffer("b", torch.ones(4))

    def add(self, x):
        self.a.add_(x)
        return self.a * 1


def export(model, methods):
    """Exports methods by their names and examples, and leaves the module as it was."""
    entries = {
        name: args if isinstance(args, ps.Method) else ps.Method(name, args)
        for name, args in methods.items()
    }
    before = [(m, dict(m.__dict__), dict(m._buffers)) for m in model.modules()]
    values = {name: buffer.clone() for name, buffer in model.named_buffers()}
    try:
        return ps.export(model, entries, backend="portable")
    finally:
        for module, fields, buffers in before:
            assert {k: id(v) for k, v in module.__dict__.items()} == {
                k: id(v) for k, v in fields.items()
            }
            assert {k: id(v) for k, v in module._buffers.items()} == {
                k: id(v) for k, v in buffers.items()
            }
        for name, buffer in model.named_buffers():
            assert torch.equal(buffer, values[name])


def refusal(model, **methods):
    """The message with which methods are refused."""
    with pytest.raises(ps.ExportError) as refused:
        export(model, methods)
    assert type(refused.value) is ps.ExportError
    return str(refused.value)


def equals_eager(model, calls, tmp_path, **methods):
    """Exports methods, and compares calls in a row with those of the module itself."""
    session = ps.load(export(model, methods).save(tmp_path / "artifact")).session()
    for name, *args in calls:
        found = session.run(name, *[a.clone() for a in args])
        with torch.no_grad():
            expected = getattr(model, name)(*args)
        for a, b in zip(found, pytree.tree_leaves(expected), strict=True):
            torch.testing.assert_close(a, b)
        buffers = dict(model.named_buffers())
        for key in session.state:
            torch.testing.assert_close(session.state[key], buffers[key])


def line_of(method, text):
    """The place of a line of a method, as messages tell it."""
    lines, first = inspect.getsourcelines(method)
    offset = next(i for i, line in enumerate(lines) if text in line)
    return f"{inspect.getsourcefile(method)}:{first + offset}: {lines[offset].strip()}"
