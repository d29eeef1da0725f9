"""Which places of a cache of pages are written; see :mod:`polystate.ops.attention`."""

from __future__ import annotations

from torch import Tensor


def misplaced(page_table: Tensor, positions: Tensor, rows: Tensor, page: int) -> str | None:
    """Say which token has no place of its own in the pages of its row; None where all have one.

    Parameters
    ----------
    page_table
        ``[rows, n]``.
    positions, rows
        ``[tokens]``.
    page
        Positions of a page.
    """
    count, row_pages = page_table.shape
    taken: dict[tuple[int, int], int] = {}
    for token, (position, row) in enumerate(zip(positions.tolist(), rows.tolist(), strict=True)):
        if not 0 <= row < count:
            return f"token {token} of row {row}, which is not between 0 and {count - 1}"
        last = row_pages * page - 1
        if not 0 <= position <= last:
            return f"token {token} at position {position}, which is not between 0 and {last}"
        place = (int(page_table[row, position // page]), position % page)
        other = taken.setdefault(place, token)
        if other != token:
            return f"tokens {other} and {token} both at slot {place[1]} of page {place[0]}"
    return None


def conflict(source: Tensor, target: Tensor) -> str | None:
    """Say which page is both a source and a target, or the target of two pages; None if no page is.

    Parameters
    ----------
    source, target
        ``[m]``: page ``target[i]`` becomes a copy of page ``source[i]``.
    """
    sources, source_of = set(source.tolist()), dict[int, int]()
    for page, copied in zip(target.tolist(), source.tolist(), strict=True):
        if page in sources:
            return f"page {page} is both a source and a target"
        first = source_of.setdefault(page, copied)
        if first != copied:
            return f"page {page} is the target of pages {first} and {copied}"
    return None
