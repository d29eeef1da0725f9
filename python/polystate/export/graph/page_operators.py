"""The operators over pages of keys and values, which change pools of them in place."""

from __future__ import annotations

import torch

import polystate.ops  # noqa: F401  (registers the operators)

operators = torch.ops.polystate

OVER_PAGES = {
    operators.copy_pages.default,
    operators.cross_attention.default,
    operators.paged_attention.default,
    operators.write_pages.default,
}
