"""What a traced graph says: its arguments and results, its sizes, where its values come from."""
