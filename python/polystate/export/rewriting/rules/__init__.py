"""What to write instead of what, a file for each kind of change."""
