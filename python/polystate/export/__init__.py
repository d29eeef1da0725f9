"""From a module with several entry points to an artifact; start reading at `program.py`."""

from polystate.export.method import Method
from polystate.export.program import Program, export
from polystate.export.verification.draws import Draws

__all__ = ["Draws", "Method", "Program", "export"]
