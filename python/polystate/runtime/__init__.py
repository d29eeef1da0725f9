"""Loads artifacts and runs them: the Python face of the C++ library."""

from polystate.runtime.model import Model, load
from polystate.runtime.session import Session, Snapshot, State

__all__ = ["Model", "Session", "Snapshot", "State", "load"]
