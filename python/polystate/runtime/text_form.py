"""How a pipeline takes texts and gives answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polystate import _core
from polystate.errors import ContractError
from polystate.runtime.grammars import optional_json


@dataclass(frozen=True)
class TextForm:
    """How texts are taken and answered, besides what is generated."""

    truncation: bool = False
    add_special_tokens: bool = True
    skip_special_tokens: bool = True
    response_format: Mapping[str, Any] | None = None
    return_full_text: bool | None = None
    return_scores: bool = False

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "response_format" or (name == "return_full_text" and value is None):
                continue
            if not isinstance(value, bool):
                raise ContractError(f"{name} is {value!r}; True or False is needed")

    @property
    def core(self) -> _core.TextForm:
        """What the runtime is told besides the options of a generation."""
        return _core.TextForm(
            self.truncation,
            self.add_special_tokens,
            self.skip_special_tokens,
            optional_json(self.response_format),
        )
