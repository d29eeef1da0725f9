"""Makes artifacts from PyTorch modules."""

from polystate.quiet import quiet

with quiet():  # torchao says at every import which parts it did not find
    from polystate.export.comparison import Comparison, compare
    from polystate.export.explaining import explain
    from polystate.export.explanation import Explanation, Finding
    from polystate.export.method import Method
    from polystate.export.program import Program, export
    from polystate.export.verification.draws import Draws

__all__ = [
    "Comparison",
    "Draws",
    "Explanation",
    "Finding",
    "Method",
    "Program",
    "compare",
    "explain",
    "export",
]
