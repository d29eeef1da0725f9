"""Loads artifacts and runs them: the Python face of the C++ library."""

from polystate.runtime.model import Model, load
from polystate.runtime.session import Session, Snapshot, State
from polystate.runtime.tokenizer import DecodeStream, Tokenizer

__all__ = ["DecodeStream", "Model", "Session", "Snapshot", "State", "Tokenizer", "load"]
