"""Rules that replace code which cannot be exported, a file for each kind of change."""
