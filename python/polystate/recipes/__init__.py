"""Models of well-known libraries as methods over one state; start reading at `pretrained.py`."""

from polystate.recipes.pretrained import export_pretrained

__all__ = ["export_pretrained"]
