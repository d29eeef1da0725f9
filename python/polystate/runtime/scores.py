"""How probable a model finds texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from polystate import _core


@dataclass(frozen=True)
class TextScore:
    """The score of one text, or of several together.

    Attributes
    ----------
    logprob
        The natural logarithm of the probability: the sum of its tokens'.
    tokens
        Tokens that are counted: all but the first of a text, which nothing comes before.
    """

    logprob: float
    tokens: int

    @property
    def mean_nll(self) -> float:
        """The negative log-probability of a token, in the mean; NaN without tokens."""
        return -self.logprob / self.tokens if self.tokens else math.nan

    @property
    def perplexity(self) -> float:
        """``e ** mean_nll``."""
        try:
            return math.exp(self.mean_nll)
        except OverflowError:
            return math.inf


@dataclass(frozen=True)
class Scores(TextScore):
    """The scores of texts, together and each.

    Attributes
    ----------
    texts
        The score of each text.
    """

    texts: list[TextScore]

    @classmethod
    def of(cls, given: Sequence[_core.TextScore]) -> Scores:
        """Take what the runtime gives."""
        texts = [TextScore(each.logprob, each.tokens) for each in given]
        logprob = math.fsum(each.logprob for each in texts)
        return cls(logprob, sum(each.tokens for each in texts), texts)
