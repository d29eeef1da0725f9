"""What functions of complex numbers are, as functions of their parts.

Each is what PyTorch's of its name is. A family is learned when its file is imported.
"""

from polystate.export.tracing import (
    complex_comparisons,  # noqa: F401
    complex_elementary,  # noqa: F401
    complex_elements,  # noqa: F401
    complex_products,  # noqa: F401
    complex_reductions,  # noqa: F401
)
