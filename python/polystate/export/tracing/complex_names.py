"""PyTorch's names of what is done with complex tensors, in kinds that are done alike."""

from __future__ import annotations

from typing import Any

# What moves, repeats, chooses or adds up elements does the same with both parts.
_MOVING = """
    broadcast_to channel_shuffle chunk clone contiguous cumsum detach diag diag_embed diagflat
    diagonal dsplit expand expand_as flatten flip fliplr flipud gather getitem hsplit
    index_select mean moveaxis movedim nan_to_num narrow neg permute pixel_shuffle
    pixel_unshuffle ravel repeat reshape reshape_as roll rot90 select split
    split_with_sizes squeeze sum sum_to_size swapaxes swapdims t take take_along_dim
    tensor_split tile trace transpose tril triu unbind unflatten unfold unsqueeze view view_as
    vsplit
"""
PART_BY_PART = frozenset(_MOVING.split())
# Of these, what gives something else than the conjugate for the conjugate.
SIGNED = frozenset(("nan_to_num",))
# Told of either part.
_READING = """
    device dim is_cpu is_cuda is_leaf is_meta is_quantized is_sparse layout ndim ndimension nelement
    numel requires_grad shape size
"""
ATTRIBUTES = frozenset(_READING.split())
# Functions by other names, each with the one that is computed here.
_OTHER_NAMES = {
    "absolute": "abs",
    "alias_copy": "clone",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctanh": "atanh",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "ger": "outer",
    "linalg_cross": "cross",
    "linalg_diagonal": "diagonal",
    "multiply": "mul",
    "negative": "neg",
    "row_stack": "vstack",
    "subtract": "sub",
    "true_divide": "div",
    "truediv": "div",
    "unsafe_chunk": "chunk",
    "unsafe_split": "split",
}
# Of these, what takes the shape of another tensor, whose values do not count.
SHAPED_AS_ANOTHER = frozenset(("expand_as", "reshape_as", "view_as"))
# What gives a tensor another shape where it lies, and not other values.
RESHAPING = frozenset(("squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"))
# What writes rows of a tensor writes the same rows of its pairs.
WRITING_ROWS = frozenset(("index_add_", "index_copy_"))
# Operators of Python whose operands come in the other order.
SWAPPED = frozenset(("radd", "rmul", "rsub", "rtruediv", "rdiv", "rpow", "rmatmul"))


def usual_name(name: str) -> str:
    """The name by which a function is computed here."""
    if name.endswith("_copy") and name.removesuffix("_copy") in PART_BY_PART:
        return name.removesuffix("_copy")
    return _OTHER_NAMES.get(name, name)


def name_of(function: Any) -> str:
    """A function's name, or the one that an operator of Python stands for."""
    name: str = getattr(function, "__name__", str(function))
    return name.strip("_") if name.startswith("__") else name
