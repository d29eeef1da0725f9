"""``polystate inspect --graph`` and ``--html``."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end import toy as toys
from tests.end_to_end.command_line import polystate
from tests.support.altered_artifacts import change_manifest, seal
from tests.support.browser import Browser, browser

HOSTILE = "</title><script>document.title = 'run'</script>"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.toy(tmp_path_factory.mktemp("inspect"))


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def graph(artifact: Path, *options: object) -> str:
    done = polystate("inspect", artifact, "--graph", *options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_graph_leads_from_inputs_and_states_to_outputs(toy: Path) -> None:
    dot = graph(toy, "step")
    assert dot.startswith('digraph "step" {\n')
    for label in [
        "input x\\nfloat32 up to [4, 3]",
        "state log\\nfloat32 [4, 3]",
        "new state log\\nfloat32 [4, 3]",
        "polystate_faster::mul.out",
        "output 0",
    ]:
        assert f'label="{label}' in dot, label
    assert "new state" not in graph(toy, "read")


def test_a_graph_is_drawn_as_svg(toy: Path) -> None:
    root = ElementTree.fromstring(graph(toy, "step", "--format", "svg"))
    assert root.tag == f"{SVG}svg"
    nodes = [line for line in graph(toy, "step").splitlines() if line.startswith("  n")]
    count = sum(" -> " not in line and "[label=" in line for line in nodes)
    assert len(root.findall(f".//{SVG}rect")) == count > 5
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "state log" in texts
    # All of it lies within the picture.
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= 0
        assert x + w <= width
        assert y + h <= height


@pytest.mark.parametrize("method", ["step", "read", "double", "even", "brain", "odd_values"])
def test_every_method_has_a_graph(toy: Path, method: str) -> None:
    assert "label=" in graph(toy, method)


def test_a_method_that_is_not_there_is_an_input_that_is_wrong(toy: Path) -> None:
    done = polystate("inspect", toy, "--graph", "none")
    assert (done.returncode, done.stdout) == (4, "")
    assert "step" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--graph", "step", "--json"],
        ["--graph", "step", "--format", "png"],
        ["--graph", "step", "--html", "x.html"],
        ["--format", "svg"],
        ["--html", ""],
    ],
)
def test_options_that_do_not_fit_are_usage_errors(toy: Path, options: list[str]) -> None:
    done = polystate("inspect", toy, *options)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_damaged_program_is_told(toy: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(toy, tmp_path / "toy"))
    program = bytearray((copied / "model.pte").read_bytes())
    program[0:4] = b"\xff\xff\xff\x7f"  # where the root is
    (copied / "model.pte").write_bytes(program)
    seal(copied)
    for options in (["--graph", "step"], ["--html", tmp_path / "page.html"]):
        done = polystate("inspect", copied, *options)
        assert done.returncode == 3
        assert "model.pte: the program is damaged at byte" in done.stderr
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_shows_everything_without_asking_for_anything(
    toy: Path, tab: Browser, tmp_path: Path, width: int
) -> None:
    page = tmp_path / "page.html"
    done = polystate("inspect", toy, "--html", page)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    visit = tab.open(page, width)
    assert visit.requests == []
    assert visit.complaints == []
    assert visit.evaluate("document.title") == "toy"
    headings = "[...document.querySelectorAll('section > h2')].map(e => e.textContent)"
    assert visit.evaluate(headings) == [
        "Artifact",
        "Methods",
        "Contract",
        "State",
        "Memory",
        "Weights",
        "Graphs and memory plans",
        "Constants",
        "Files",
    ]
    methods = "[...document.querySelectorAll('section > h3')].map(e => e.textContent)"
    assert visit.evaluate(methods) == [
        f"Method {name}" for name in ("step", "read", "double", "even", "brain", "odd_values")
    ]
    labels = "[...document.querySelectorAll('svg[aria-label]')].map(e => e.ariaLabel)"
    pictures = visit.evaluate(labels)
    assert sum(label.startswith("What ") for label in pictures) == 6
    assert any("activations" in label for label in pictures)
    assert any("the state" in label for label in pictures)
    root = "document.documentElement"
    assert visit.evaluate(f"{root}.scrollWidth") == visit.evaluate(f"{root}.clientWidth")
    for text in ["float32 [rows 1..4, 3]", "index", "starts as", "max_length", "golden.npz"]:
        assert visit.evaluate(f"document.body.textContent.includes({text!r})"), text


def test_names_and_texts_of_an_artifact_are_only_text(
    toy: Path, tab: Browser, tmp_path: Path
) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["constants"]["text"] = HOSTILE + "\u202e"
        for state in manifest["state"]:
            state["preview"] = HOSTILE
        manifest["methods"][0]["writes"][0]["reason"] = HOSTILE

    copied = Path(shutil.copytree(toy, tmp_path / "<b>toy"))
    change_manifest(copied, change)
    page = tmp_path / "page.html"
    done = polystate("inspect", copied, "--html", page)
    assert done.returncode == 0, done.stderr
    visit = tab.open(page, 1280)
    assert visit.evaluate("document.title") == "<b>toy"
    assert visit.evaluate("document.querySelectorAll('script, b').length") == 0
    assert visit.evaluate("document.body.textContent.includes('</title><script>')")
    assert visit.evaluate("document.body.textContent.includes('U+202E')")
    assert visit.complaints == []
