"""An explanation as a report: one page of HTML (include/polystate/report/render.h)."""

from __future__ import annotations

import linecache
import re
from typing import TYPE_CHECKING, Any

from polystate.export.inside_page import Block, Section, inside_sections, size_of, text

if TYPE_CHECKING:
    from polystate.export.explanation import Explanation, Finding
    from polystate.export.inside import Inside
    from polystate.export.rewriting.trial import Rewrite
    from polystate.export.stages import Stage

_TONES = {"works": "good", "works with": "warning", "fails": "bad", "not reached": "muted"}
_PLACE = re.compile(r"^(?P<path>.+?):(?P<number>\d+): ")
_AROUND = 3  # lines before and after the one that stops an export


def document(explanation: Explanation) -> dict[str, Any]:
    """The whole report."""
    methods = dict.fromkeys(finding.method for finding in explanation.findings)
    sections = [_summary(explanation), *(_method(explanation, method) for method in methods)]
    sections.append(_times(explanation))
    return {
        "title": "How far an export comes",
        "subtitle": explanation.conclusion(),
        "sections": sections,
    }


def _summary(explanation: Explanation) -> Section:
    rows = []
    for finding in explanation.findings:
        verdict = _verdict(finding)
        rows.append(
            [
                {"text": finding.method, "code": True},
                finding.backend,
                {"text": verdict, "tone": _TONES.get(verdict, "bad")},
                finding.message.partition("\n")[0],
            ]
        )
    columns = ["method", "backend", "verdict", ""]
    blocks: list[Block] = [{"kind": "table", "columns": columns, "rows": rows}]
    for backend, message in explanation.together.items():
        blocks.append(text(f"all methods together on {backend}: {message}", "bad"))
    return {"title": "Summary", "blocks": blocks}


def _verdict(finding: Finding) -> str:
    if not finding.works:
        return f"fails at the {finding.stage}"
    has_notes = any(stage.notes for stage in finding.stages)
    return "works with" if has_notes else "works"


def _method(explanation: Explanation, method: str) -> Section:
    found = [finding for finding in explanation.findings if finding.method == method]
    blocks = [_stages(finding.backend, finding.stages) for finding in found]
    sections = [
        {"title": f"What stops {finding.backend}", "blocks": _failure(finding)}
        for finding in found
        if not finding.works
    ]
    spots = explanation.values.get(method, ())
    if spots:
        rows = [[{"text": spot.line, "code": True}, spot.told] for spot in spots]
        table = {"kind": "table", "columns": ["line", ""], "rows": rows}
        sections.append({"title": "All places that need values", "blocks": [table]})
    rewrite = explanation.rewrites.get(method)
    if rewrite is not None:
        sections.append({"title": "A rewrite that was tried", "blocks": _rewrite(rewrite)})
    for backend, inside in explanation.insides.get(method, {}).items():
        parts = [*inside_sections(inside), _sizes(inside)]
        sections.append({"title": f"Inside, on {backend}", "sections": parts})
    return {"title": method, "blocks": blocks, "sections": sections}


def _stages(backend: str, stages: tuple[Stage, ...]) -> Block:
    rows = [
        [
            stage.name,
            {"text": stage.verdict, "tone": _TONES[stage.verdict]},
            "; ".join(stage.facts),
            "" if stage.seconds is None else f"{stage.seconds:.2f} s",
        ]
        for stage in stages
    ]
    columns = ["stage", "", "what was found", {"title": "time", "right": True}]
    return {"kind": "table", "caption": backend, "columns": columns, "rows": rows}


def _failure(finding: Finding) -> list[Block]:
    blocks = [text(finding.message, "bad")]
    code = _code_around(finding.line)
    if code is not None:
        blocks.append(code)
    if finding.example:
        blocks.append(text(f"An example: polystate explain {finding.example}"))
    return blocks


def _code_around(line: str) -> Block | None:
    """The user's line with some before and after it."""
    place = _PLACE.match(line)
    if place is None:
        return None
    path, number = place["path"], int(place["number"])
    first = max(1, number - _AROUND)
    lines = [linecache.getline(path, each) for each in range(first, number + _AROUND + 1)]
    if not "".join(lines):
        return None
    mark = {"line": number, "tone": "bad"}
    return {
        "kind": "code",
        "caption": path,
        "text": "".join(lines),
        "first_line": first,
        "marks": [mark],
    }


def _rewrite(rewrite: Rewrite) -> list[Block]:
    told = f"On {rewrite.backend} it {rewrite.told}."
    blocks = [text(told, "good" if rewrite.holds else "warning")]
    blocks += [text(change) for change in rewrite.changes]
    if rewrite.diff:
        blocks.append({"kind": "code", "text": rewrite.diff, "diff": True})
    blocks.append(text(f"Writing and trying it took {rewrite.seconds:.1f} s.", "muted"))
    return blocks


def _sizes(inside: Inside) -> Section:
    bars = [_bar("intermediate results", inside.method.activation_bytes)]
    bars += [_bar(f"state '{each.name}'", size_of(each.dtype, each.shape)) for each in inside.state]
    return {"title": "Sizes", "blocks": [{"kind": "bars", "caption": "bytes", "bars": bars}]}


def _bar(label: str, value: float, told: str | None = None) -> dict[str, Any]:
    return {"label": label, "value": value, "text": f"{value:,}" if told is None else told}


def _times(explanation: Explanation) -> Section:
    bars = [
        _bar(f"{finding.method}, {finding.backend}: {stage.name}", stage.seconds, _seconds(stage))
        for finding in explanation.findings
        for stage in finding.stages
        if stage.seconds
    ]
    bars += [
        _bar(f"all exports for {name}", each, f"{each:.2f} s")
        for name, each in explanation.seconds.items()
    ]
    bars += [
        _bar(f"beside them: {name}", each, f"{each:.2f} s")
        for name, each in explanation.seconds_beside.items()
    ]
    return {"title": "Times", "blocks": [{"kind": "bars", "bars": bars}]}


def _seconds(stage: Stage) -> str:
    return f"{stage.seconds:.2f} s"
