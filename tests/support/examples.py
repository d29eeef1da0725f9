"""The programs of examples/, as modules."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    """The ``export.py`` of an example: its model, and ``program()``, which are new each time."""
    spec = importlib.util.spec_from_file_location(f"{name}_export", EXAMPLES / name / "export.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
