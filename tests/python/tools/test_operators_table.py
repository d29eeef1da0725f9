"""The table of operators is made of results, and of a page for what these do not have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import operators_table
from tools.operators_table import Found

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "operators.md"


def _print(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    monkeypatch.setattr("sys.argv", ["operators_table", *words])
    operators_table.main()
    return capsys.readouterr().out


def test_the_page_is_made_of_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _print(monkeypatch, capsys, "--page", str(PAGE)) == PAGE.read_text()


def test_new_results_take_the_place_of_a_pages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    results = {
        "portable": [
            {"name": "add float32", "outcome": "equal", "told": "aten::add.out =Delegate"},
            {"name": "add int64", "outcome": "different", "told": "a: 3 in place of 4; b | c"},
            {"name": "mul bool", "outcome": "refused", "told": "Error: (at f.py: x) no | yes; no"},
        ],
        "aoti": [
            {"name": "add int64"},
            {"name": "mul bool", "outcome": "nothing to try"},
            {"name": "mul float32", "outcome": "equal", "told": ""},
            {"name": "mul float64", "outcome": "refused", "told": "x; not bool is y; int64 (5)"},
        ],
    }
    words = []
    for engine, lines in results.items():
        started = [{"name": line["name"]} for line in lines]
        (tmp_path / engine).write_text("\n".join(map(json.dumps, [*started, *lines])))
        words += ["--sweep", f"{engine}={tmp_path / engine}"]
    page = tmp_path / "page.md"
    page.write_text(_print(monkeypatch, capsys, *words))
    assert operators_table.written(page) == {
        "portable": {
            "add float32": Found(True, "add.out ~", True),
            "add int64": Found(False, "3 in place of 4", True),
            "mul bool": Found(False, "Error:", True),
        },
        "xnnpack": {},
        "aoti": {
            "add int64": Found(False, "ends the process", True),
            "mul float32": Found(True, "", True),
            "mul float64": Found(False, "x; not bool is y; int64 (5)", True),
        },
    }
    newer = [
        {"name": "add int64", "outcome": "equal", "told": "aten::sub.out"},
        {"name": "mul bool", "outcome": "nothing to try"},
    ]
    (tmp_path / "newer").write_text("\n".join(map(json.dumps, newer)))
    counted = {"number": 0, "kind": "sample", "told": "no", "used": ["x.out"]}
    census = [
        {"name": "add float32", "outcome": "different", **counted},
        {"name": "sub float32", "outcome": "different", **counted},
        {"name": "sub int64", "outcome": "equal", **counted},
    ]
    (tmp_path / "census").write_text("\n".join(map(json.dumps, census)))
    more = ["--page", str(page), "--sweep", f"portable={tmp_path / 'newer'}"]
    more += ["--census", str(tmp_path / "census"), "--output", str(page)]
    assert _print(monkeypatch, capsys, *more) == ""
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    assert rows == [
        "| `add` | float32 int64 (exported) | not run | not int64: ends the process "
        "| `add.out` `sub.out` written by others |",
        "| `mul` | not run | not run | float32 (exported); "
        "not float64: x; not bool is y; int64 (5) |  |",
        "| `sub` | int64 (kernels); not float32 (kernels): no | not run | not run | `x.out` |",
    ]
    text = page.read_text()
    assert _print(monkeypatch, capsys, "--page", str(page)) == text


@pytest.mark.parametrize(
    "text", ["", "| `add` | float32 (exported) or so | not run | not run |  |"]
)
def test_what_is_no_page_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(ValueError, match=r"no table of operators|a cell of the page has"):
        operators_table.written(tmp_path / "page.md")
