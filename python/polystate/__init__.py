"""Programs with several entry points and one state: exported soundly, run in C++.

``export`` makes an artifact from a PyTorch module; ``load`` opens one. Loading and running import
neither torch nor transformers.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from polystate.errors import (
    ArtifactError,
    BusyError,
    ContractError,
    EngineError,
    Error,
    ExportError,
    IoError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from polystate._core import __version__
    from polystate.export import Comparison, Draws, Explanation, Method, compare, explain, export
    from polystate.recipes.pretrained import export_pretrained
    from polystate.runtime import (
        ChatAnswer,
        ChatPiece,
        ChatUsage,
        Conversation,
        GenerateOutput,
        Grammar,
        GrammarState,
        Model,
        Pipeline,
        ResponseParser,
        Scores,
        Session,
        Snapshot,
        TextScore,
        Tokenizer,
        TokenLogprobs,
        Usage,
        generate,
        load,
        pipeline,
    )

__all__ = [
    "ArtifactError",
    "BusyError",
    "ChatAnswer",
    "ChatPiece",
    "ChatUsage",
    "Comparison",
    "ContractError",
    "Conversation",
    "Draws",
    "EngineError",
    "Error",
    "Explanation",
    "ExportError",
    "GenerateOutput",
    "Grammar",
    "GrammarState",
    "IoError",
    "Method",
    "Model",
    "Pipeline",
    "ResponseParser",
    "Scores",
    "Session",
    "Snapshot",
    "TextScore",
    "TokenLogprobs",
    "Tokenizer",
    "UnsupportedError",
    "Usage",
    "__version__",
    "compare",
    "explain",
    "export",
    "export_pretrained",
    "generate",
    "load",
    "pipeline",
]

# Where the names come from that need the C++ library, or torch; imported when first used.
_LAZY = {
    "ChatAnswer": "polystate.runtime",
    "ChatPiece": "polystate.runtime",
    "ChatUsage": "polystate.runtime",
    "Comparison": "polystate.export",
    "Conversation": "polystate.runtime",
    "Draws": "polystate.export",
    "Explanation": "polystate.export",
    "GenerateOutput": "polystate.runtime",
    "Grammar": "polystate.runtime",
    "GrammarState": "polystate.runtime",
    "Method": "polystate.export",
    "Model": "polystate.runtime",
    "Pipeline": "polystate.runtime",
    "ResponseParser": "polystate.runtime",
    "Scores": "polystate.runtime",
    "Session": "polystate.runtime",
    "Snapshot": "polystate.runtime",
    "TokenLogprobs": "polystate.runtime",
    "TextScore": "polystate.runtime",
    "Tokenizer": "polystate.runtime",
    "Usage": "polystate.runtime",
    "__version__": "polystate._core",
    "compare": "polystate.export",
    "explain": "polystate.export",
    "export": "polystate.export",
    "export_pretrained": "polystate.recipes.pretrained",
    "generate": "polystate.runtime",
    "load": "polystate.runtime",
    "pipeline": "polystate.runtime",
}

# What the extra `export` installs.
_EXTRA = ("torch", "torchao", "transformers")


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'polystate' has no attribute '{name}'")
    try:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise ImportError(
            f"polystate.{name} needs {error.name}, which is not installed: "
            f"pip install 'polystate[export]'"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps ``export`` for the function: importing the subpackage would take the name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "export" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
