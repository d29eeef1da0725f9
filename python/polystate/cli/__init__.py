"""The command line of the Python side: ``polystate-export``."""
