"""Rewrites a user's code where an export is refused, and tries what it wrote.

`texts` edits sources, `drafts` runs them in a copy of the module, each file of `rules` replaces one
kind of code, and `trial` exports the copy and compares it with the module. No file of the user is
changed.
"""
