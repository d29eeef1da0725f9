"""What a trace assumes of its inputs, as data, and what only the program itself can check."""
