"""`polystate explain` and `polystate-export --explain`."""

import json
from pathlib import Path

import pytest

from tests.end_to_end.command_line import polystate, polystate_export

PAGES = Path(__file__).parents[2] / "docs" / "examples"

SOURCE = """
import torch
import polystate as ps

class Model(torch.nn.Module):
    def double(self, x):
        return x * 2

    def branch(self, x):
        return x * 2 if x.sum() > 0 else x

def program():
    x = torch.ones(4)
    methods = {name: ps.Method(name, (x,)) for name in ("double", "branch")}
    return Model(), methods

def double():
    return Model(), {"double": ps.Method("double", (torch.ones(4),))}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "model.py"
    path.write_text(SOURCE)
    return path


def test_a_page_is_shown_as_it_is():
    done = polystate("explain", "branch_on_values")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (PAGES / "branch_on_values.md").read_text()


def test_without_a_name_all_are_listed():
    done = polystate("explain")
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    assert listed == sorted(file.stem for file in PAGES.glob("*.md") if file.stem != "README")


def test_an_unknown_name_is_refused_with_those_that_are_like_it():
    done = polystate("explain", "sparse")
    assert done.returncode == 4
    assert "there is no example 'sparse'; there are sparse_input, sparse_result" in done.stderr


def test_all_problems_of_a_source_are_told(source):
    done = polystate_export(f"{source}:program", "--explain", "--backend", "portable")
    assert done.returncode == 4
    assert "double\n  portable: works\n" in done.stdout
    assert "branch\n  portable: fails at the trace\n" in done.stdout
    assert f"{source}:10: return x * 2 if x.sum() > 0 else x" in done.stdout
    assert "example: polystate explain branch_on_values" in done.stdout


def test_the_explanation_is_json_too(source):
    done = polystate_export(f"{source}:double", "--explain", "--json", "--backend", "portable")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["works"] and told["backends"] == ["portable"]
    assert told["findings"][0]["method"] == "double"


def test_a_page_is_written_and_the_source_is_not(source, tmp_path):
    before, page = source.read_bytes(), tmp_path / "explained.html"
    arguments = ("--explain", "--backend", "portable", "--html", page)
    done = polystate_export(f"{source}:program", *arguments)
    assert done.returncode == 4
    assert "  tried on portable: exports, and equals your module in " in done.stdout
    assert "    +        return torch.where(x.sum() > 0, x * 2, x)\n" in done.stdout
    assert "torch.where(x.sum() &gt; 0, x * 2, x)" in page.read_text()
    assert source.read_bytes() == before


def test_what_torch_says_is_shown_where_it_is_asked_for(source, tmp_path):
    arguments = (f"{source}:program", tmp_path / "artifact", "--backend", "portable")
    plain, verbose = polystate_export(*arguments), polystate_export(*arguments, "--verbose")
    assert plain.returncode == verbose.returncode == 4
    assert "Traceback" not in plain.stderr and "GuardOnDataDependent" not in plain.stderr
    assert plain.stderr.splitlines()[-1] == "  example: branch_on_values"
    assert "GuardOnDataDependent" in verbose.stderr


@pytest.mark.parametrize(
    "arguments", [("OUT", "--explain"), ("--json",), ("OUT", "--html", "FILE"), ()]
)
def test_a_wrong_command_line_is_told(source, arguments):
    assert polystate_export(f"{source}:double", *arguments).returncode == 2
