"""Trains the chat model of the demonstration, from sentence pairs; see ``--help``."""
