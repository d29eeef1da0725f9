"""From a module with several entry points to an artifact; start reading at `program.py`."""

from polystate.export.method import Method
from polystate.export.program import Program, export

__all__ = ["Method", "Program", "export"]
