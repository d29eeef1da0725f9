"""What kinds of models are made into, each with its methods, their examples and its constants."""
