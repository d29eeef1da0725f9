"""Operators without kernels, in terms of other operators, before anything else reads the graph.

Each module has the functions of one family, and a table of them: ``OPERATORS``. A function takes
the arguments of PyTorch's operator and computes the same; it returns ``NotImplemented`` where the
operator is to stay.
"""
