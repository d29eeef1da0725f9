"""The inside of a method as sections of a report (include/polystate/report/render.h)."""

from __future__ import annotations

import linecache
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from polystate.artifact.expressions import to_text
from polystate.artifact.manifest import Input, Method, Symbol
from polystate.export.inside import Inside
from polystate.export.lowering.planned_graph import Kind, Part

Block = dict[str, Any]
Section = dict[str, Any]

# What a graph shows at most; more cannot be read.
MOST_PARTS = 400

_KINDS: dict[Kind, tuple[str, str]] = {
    "input": ("input", "muted"),
    "state": ("state", "violet"),
    "delegated": ("runs in a delegate", "good"),
    "fused": ("an operator of polystate's own, for several of PyTorch's", "teal"),
    "kernel": ("a kernel of the runtime", "blue"),
    "copy": ("copies", "warning"),
    "view": ("names memory anew", "plain"),
    "check": ("checks", "muted"),
    "output": ("results", "plain"),
}
_GROUPS = [{"name": name, "tone": tone} for name, tone in _KINDS.values()]
_GROUP_OF = {kind: index for index, kind in enumerate(_KINDS)}

_BYTES = {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2}
_BYTES |= {"int32": 4, "float32": 4, "int64": 8, "float64": 8}

# Lines further apart than these are shown as code of its own.
_GAP = 6
_PLACE = re.compile(r"^(?P<path>.+?):(?P<number>\d+): ")


def inside_sections(inside: Inside) -> list[Section]:
    """Contract, graph, the user's lines, state, memory."""
    return [
        {"title": "Contract", "blocks": _contract(inside.method)},
        {"title": "Graph", "blocks": _graph(inside.parts)},
        {"title": "Your lines", "blocks": list(_lines(inside.parts))},
        {"title": "State", "blocks": _state(inside)},
        {"title": "Memory", "blocks": _memory(inside)},
    ]


def text(told: str, tone: str = "plain") -> Block:
    """A paragraph."""
    return {"kind": "text", "text": told, "tone": tone}


def _contract(method: Method) -> list[Block]:
    symbols = {symbol.name: symbol for symbol in method.symbols}
    inputs = [_input_row(each, symbols) for each in method.inputs]
    blocks: list[Block] = [
        {
            "kind": "table",
            "caption": "inputs",
            "columns": ["name", "type", "sizes", "values"],
            "rows": inputs,
        }
    ]
    conditions = [(guard.text, guard.source, "before the call") for guard in method.guards]
    conditions += [(check.text, check.source, "inside of it") for check in method.checks]
    if conditions:
        rows = [[_code(told), _code(source), when] for told, source, when in conditions]
        columns = ["condition", "because of", "checked"]
        blocks.append({"kind": "table", "caption": "conditions", "columns": columns, "rows": rows})
    outputs = [[str(number), _code(str(each))] for number, each in enumerate(method.outputs)]
    blocks.append({"kind": "table", "caption": "results", "columns": ["", "type"], "rows": outputs})
    return blocks


def _input_row(given: Input, symbols: Mapping[str, Symbol]) -> list[Any]:
    sizes = []
    for size in given.shape:
        if isinstance(size, str):
            sizes.append(f"{size} from {symbols[size].min} to {symbols[size].max}")
        else:
            sizes.append(to_text(size))
    values = [
        f"{'' if each.min is None else to_text(each.min)}.."
        f"{'' if each.max is None else to_text(each.max)} ({each.reason})"
        for each in given.values
    ]
    return [_code(given.name), given.dtype, " by ".join(sizes) or "one number", "; ".join(values)]


def _code(told: str) -> dict[str, Any]:
    return {"text": told, "code": True}


def _graph(parts: Sequence[Part]) -> list[Block]:
    shown = [i for i, part in enumerate(parts) if part.kind != "weight"][:MOST_PARTS]
    place = {number: index for index, number in enumerate(shown)}
    nodes = [_node(parts[number]) for number in shown]
    edges = [
        {"from": place[operand], "to": place[number], "label": parts[operand].shape}
        for number in shown
        for operand in parts[number].operands
        if operand in place
    ]
    graph = {"kind": "graph", "groups": _GROUPS, "nodes": nodes, "edges": edges}
    weights = sum(part.kind == "weight" for part in parts)
    told = f"{len(parts) - weights} parts, and {weights} weights, which are left out here"
    if len(shown) < len(parts) - weights:
        told += f"; the first {len(shown)} are shown"
    return [text(told), graph]


def _node(part: Part) -> dict[str, Any]:
    details = [part.operator, part.shape, *part.lines]
    if part.inner:
        details.append(f"inside: {', '.join(part.inner)}")
    if part.changes:
        details.append(f"gives '{part.changes}' its new value")
    note = _short_line(part.lines[0]) if part.lines else part.shape
    if len(part.lines) > 1:
        note += f" and {len(part.lines) - 1} more"
    return {
        "label": part.operator,
        "note": note,
        "details": "\n".join(each for each in details if each),
        "group": _GROUP_OF.get(part.kind, _GROUP_OF["view"]),
    }


def _short_line(line: str) -> str:
    """A line without its path."""
    place = _PLACE.match(line)
    return f"{place['number']}: {line[place.end() :]}" if place else line


def _lines(parts: Sequence[Part]) -> Iterator[Block]:
    """The user's code, with what became of each line."""
    became: dict[str, dict[int, list[Part]]] = {}
    for part in parts:
        for line in part.lines:
            place = _PLACE.match(line)
            if place and part.kind not in ("input", "state", "weight", "output"):
                of_file = became.setdefault(place["path"], {})
                of_file.setdefault(int(place["number"]), []).append(part)
    if not became:
        yield text("no line of yours is known of the graph", "muted")
    for path, lines in became.items():
        for numbers in _clusters(sorted(lines)):
            first, last = max(1, numbers[0] - 1), numbers[-1] + 1
            yield {
                "kind": "code",
                "caption": path,
                "text": "".join(linecache.getline(path, n) for n in range(first, last + 1)),
                "first_line": first,
                "marks": [_mark(number, lines[number]) for number in numbers],
            }


def _clusters(numbers: list[int]) -> Iterator[list[int]]:
    """Numbers that are near to one another."""
    cluster = numbers[:1]
    for before, number in pairwise(numbers):
        if number - before > _GAP:
            yield cluster
            cluster = []
        cluster.append(number)
    if cluster:
        yield cluster


def _mark(number: int, parts: list[Part]) -> dict[str, Any]:
    kinds = dict.fromkeys(part.kind for part in parts)
    told = []
    for kind in kinds:
        names = dict.fromkeys(part.operator for part in parts if part.kind == kind)
        told.append(f"{_KINDS[kind][0]}: {', '.join(names)}")
    worst = "copy" if "copy" in kinds else next(iter(kinds))
    return {"line": number, "tone": _KINDS[worst][1], "note": "; ".join(told)}


def _state(inside: Inside) -> list[Block]:
    method, parts = inside.method, inside.parts
    touched = sorted({*method.reads, *(write.state for write in method.writes)})
    if not touched:
        return [text("the method neither reads nor writes state")]
    rows, spans = [], []
    updates = {write.state: write for write in method.writes}
    for index in touched:
        state = inside.state[index]
        size = f"{state.dtype}{state.shape}, {size_of(state.dtype, state.shape)} bytes"
        write = updates.get(index)
        how = f"{write.update.replace('_', ' ')}: {write.reason}" if write else "is read alone"
        rows.append([_code(state.name), size, state.preview or "empty", how])
        spans.append({"label": state.name, "spans": _life(state.name, parts)})
    columns = ["name", "type", "starts as", "how it is updated"]
    timeline = {
        "kind": "timeline",
        "caption": "from one part of the graph to the next",
        "steps": max(1, len(parts)),
        "groups": [
            {"name": "the value from before the call", "tone": "blue"},
            {"name": "the new value", "tone": "violet"},
        ],
        "rows": spans,
    }
    return [{"kind": "table", "columns": columns, "rows": rows}, timeline]


def _life(name: str, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """When a state has its old value, and when its new one."""
    end = len(parts) - 1
    written = [i for i, part in enumerate(parts) if part.changes == name and part.kind != "state"]
    if not written:
        return [{"first": 0, "last": max(0, end), "group": 0}]
    old = [{"first": 0, "last": written[0] - 1, "group": 0}] if written[0] > 0 else []
    return [*old, {"first": written[0], "last": max(written[0], end), "group": 1}]


def size_of(dtype: str, shape: Sequence[int]) -> int:
    """The bytes of a tensor."""
    return math.prod(shape) * _BYTES[dtype]


def _memory(inside: Inside) -> list[Block]:
    told = f"{inside.method.activation_bytes} bytes for intermediate results, at the largest sizes"
    blocks: list[Block] = [
        {
            "label": part.name,
            "details": "\n".join([part.operator, part.shape, *part.lines]),
            "first": place.first,
            "last": place.last,
            "offset": place.offset,
            "bytes": place.bytes,
            "group": _GROUP_OF.get(part.kind, _GROUP_OF["view"]),
        }
        for part in inside.parts
        for place in part.places
        if place.arena == "activations" and part.kind != "output"
    ]
    if not blocks:
        none = "the engine plans memory itself, or there is none to plan"
        return [text(told), text(none, "muted")]
    plan = {
        "kind": "memory_plan",
        "groups": _GROUPS,
        "steps": max(block["last"] for block in blocks) + 1,
        "bytes": max([inside.method.activation_bytes, *(b["offset"] + b["bytes"] for b in blocks)]),
        "blocks": blocks,
    }
    return [text(told), plan]
