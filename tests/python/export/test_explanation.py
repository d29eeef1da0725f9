"""`ps.explain` tells of each method how far it gets on each backend."""

import json

import pytest
import torch
from torch import nn

import polystate as ps
from polystate.export.explanation import Explanation, Finding

X = torch.tensor([1.0, -2.0, 3.0, 4.0])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.calls = 0

    def add(self, x):
        self.total.add_(x)
        return self.total * 1

    def branch(self, x):
        return x * 2 if x.sum() > 0 else x

    def count(self, x):
        self.calls += 1
        return x * self.calls

    def quantize(self, x):
        return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).dequantize()


def explained(*names, backends=("portable",)):
    methods = {name: ps.Method(name, (X,)) for name in names}
    return ps.explain(Model(), methods, backends=backends, draws=ps.Draws(count=2))


def test_every_method_is_tried_whatever_the_others_do():
    found = explained("add", "branch", "count", "quantize")
    assert [finding.method for finding in found.findings] == ["add", "branch", "count", "quantize"]
    assert [finding.stage for finding in found.findings] == ["", "trace", "state", "operators"]
    assert [finding.example for finding in found.findings] == [
        None,
        "branch_on_values",
        "attribute_that_changes",
        "operator_without_kernel",
    ]
    assert not found.works
    assert found.backends("add") == ["portable"] and found.backends("branch") == []


def test_a_finding_has_the_users_line():
    found = explained("branch", "count").findings
    assert found[0].line.startswith(__file__) and found[0].line.endswith("else x")
    assert found[1].line.startswith(__file__) and found[1].line.endswith("self.calls += 1")


def test_what_the_trace_refuses_is_not_traced_again_for_another_backend():
    found = explained("branch", backends=("portable", "aoti"))
    assert [finding.backend for finding in found.findings] == ["portable", "aoti"]
    assert found.findings[0].message == found.findings[1].message
    assert found.seconds["aoti"] < 0.01
    assert "  portable, aoti: fails at the trace" in str(found)


def test_methods_that_work_are_told_with_the_backend():
    found = explained("add")
    assert found.works and found.backends() == ["portable"]
    assert str(found) == "add\n  portable: works\n\nexport it with backend='portable'"
    assert json.loads(found.to_json())["findings"][0]["works"] is True


def test_methods_that_fail_only_together_do_not_work():
    findings = (Finding("a", "portable"), Finding("b", "portable"), Finding("a", "xnnpack"))
    found = Explanation(findings, {"portable": "no"}, {})
    assert found.backends() == ["xnnpack"] and found.backends("a") == ["portable", "xnnpack"]
    assert "all methods together on portable\n    no" in str(found)


@pytest.mark.parametrize("arguments", [{"backends": ["vulkan"]}, {"methods": {}}])
def test_what_cannot_be_tried_is_refused(arguments):
    methods = arguments.pop("methods", {"add": ps.Method("add", (X,))})
    with pytest.raises(ps.ContractError, match=r"backend|empty"):
        ps.explain(Model(), methods, **arguments)
