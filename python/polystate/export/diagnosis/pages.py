"""Which page of the example database tells of which message."""

from __future__ import annotations

PAGES: tuple[tuple[str, str], ...] = ()
