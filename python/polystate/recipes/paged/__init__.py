"""Caches of pages, and attention over them, in the place of transformers' own."""
