"""Finds what a method writes into pages, to check that no place is written twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, Node

import polystate.ops  # noqa: F401  (registers the operators)
from polystate.export.graph.operands import called_operator, changed_shape, named_operands

operators = torch.ops.polystate


@dataclass(frozen=True)
class WrittenStep:
    """Tokens that are written into pages.

    Attributes
    ----------
    uses
        The operators that write them: one for each layer.
    page_table, positions, rows, page
        As ``polystate::check_places`` takes them.
    """

    uses: list[Node]
    page_table: Node
    positions: Node
    rows: Node
    page: Any


@dataclass(frozen=True)
class PageCopy:
    """Pages that become copies of others.

    Attributes
    ----------
    uses
        The operators that copy them: one for each layer.
    source, target
        As ``polystate::check_page_copies`` takes them.
    """

    uses: list[Node]
    source: Node
    target: Node


def written_steps(graph: Graph) -> list[WrittenStep]:
    """List the steps of a functional graph, each once."""
    found: dict[Any, WrittenStep] = {}
    for node in graph.nodes:
        if called_operator(node) != operators.paged_attention.default:
            continue
        given, page = named_operands(node), changed_shape(node, "key_pool")[3]
        indices = (given["page_table"], given["positions"], given["rows"])
        step = found.setdefault((*indices, str(page)), WrittenStep([], *indices, page))
        step.uses.append(node)
    return list(found.values())


def page_copies(graph: Graph) -> list[PageCopy]:
    """List the copies of pages of a functional graph, each once."""
    found: dict[Any, PageCopy] = {}
    for node in graph.nodes:
        if called_operator(node) != operators.copy_pages.default:
            continue
        given = named_operands(node)
        pages = (given["source"], given["target"])
        found.setdefault(pages, PageCopy([], *pages)).uses.append(node)
    return list(found.values())
