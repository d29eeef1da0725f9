"""From what PyTorch and ExecuTorch raise to what a user can act on.

`lines` finds the user's own line, `problems` the kind of the problem, and `explain` puts both into
words.
"""
