"""What texts have to be, token by token, for decoding loops of one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polystate import _core
from polystate.errors import ContractError
from polystate.runtime.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def as_json(response_format: Mapping[str, Any]) -> str:
    """A ``response_format`` as the runtime takes it; ContractError for what is no JSON."""
    if not isinstance(response_format, Mapping):
        raise ContractError(f"response_format is {response_format!r}; a dictionary is needed")
    try:
        return json.dumps(dict(response_format), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"response_format is no JSON: {error}") from None


def optional_json(response_format: Mapping[str, Any] | None) -> str | None:
    """The same of what may be left out."""
    return None if response_format is None else as_json(response_format)


class Grammar:
    """Which tokens a text can go on with, to become what a format asks for.

    Parameters
    ----------
    response_format
        As a :class:`Pipeline` takes it.
    eos_token_id
        The tokens that end a text, at least one.

    Raises
    ------
    ContractError
        The format is malformed.
    UnsupportedError
        It has words that would not be enforced, or the tokenizer's tokens have no bytes of their
        own.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        response_format: Mapping[str, Any],
        eos_token_id: int | Sequence[int],
    ) -> None:
        ends = [eos_token_id] if isinstance(eos_token_id, int) else list(eos_token_id)
        self._core = _core.Grammar(tokenizer._core, as_json(response_format), ends)

    def start(self) -> GrammarState:
        """Of an empty text."""
        return GrammarState(self._core.start())


class GrammarState:
    """How far a text is in a grammar."""

    def __init__(self, core: _core.GrammarState) -> None:
        self._core = core

    def allowed(self) -> NDArray[np.bool_]:
        """Of each token, whether it may follow: ``[vocabulary]``."""
        return self._core.allowed()

    def advance(self, token: int) -> None:
        """The text has one more token; ContractError where it may not."""
        self._core.advance(token)

    def rewind(self, count: int) -> None:
        """The last `count` tokens are gone."""
        self._core.rewind(count)

    def fork(self) -> GrammarState:
        """An equal state, which goes on by itself."""
        return GrammarState(self._core.fork())
