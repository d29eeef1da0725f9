"""Loads artifacts and runs them: the Python face of the C++ library."""

from polystate.runtime.answers import ChatAnswer, ChatPiece
from polystate.runtime.conversation import ChatUsage, Conversation
from polystate.runtime.generation_output import GenerateOutput, TokenLogprobs, Usage
from polystate.runtime.grammars import Grammar, GrammarState
from polystate.runtime.model import Model, load
from polystate.runtime.pipelines import Pipeline, generate, pipeline
from polystate.runtime.responses import ResponseParser
from polystate.runtime.scores import Scores, TextScore
from polystate.runtime.session import Session, Snapshot, State
from polystate.runtime.tokenizer import DecodeStream, Tokenizer

__all__ = [
    "ChatAnswer",
    "ChatPiece",
    "ChatUsage",
    "Conversation",
    "DecodeStream",
    "GenerateOutput",
    "Grammar",
    "GrammarState",
    "Model",
    "Pipeline",
    "ResponseParser",
    "Scores",
    "Session",
    "Snapshot",
    "State",
    "TextScore",
    "TokenLogprobs",
    "Tokenizer",
    "Usage",
    "generate",
    "load",
    "pipeline",
]
