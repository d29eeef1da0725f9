"""Shows that a finished program does what its module does, or refuses it."""
