"""Writes into the cache and reads a window of it back. Usage: run.py ARTIFACT"""

import sys

import numpy as np

import polystate as ps

session = ps.load(sys.argv[1]).session()
session.run("set_cache", np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32))

window = np.full((3, 4), -1, dtype=np.float32)
session.run("get_cache", window)  # writes into `window`
for row in window:
    print(*(f"{value:g}" for value in row))
