"""Follows five tracks for four steps, and tells of the last one. Usage: run.py ARTIFACT"""

import sys

import numpy as np

import polystate as ps

session = ps.load(sys.argv[1]).session()
for step in range(4):
    distances = 5.0 + 0.125 * step + 0.03125 * np.arange(5)
    bearings = np.full(5, 0.875 - 0.03125 * step)
    measured = np.stack([distances, bearings], -1).astype(np.float32)
    likelihood, certainty = session.run("update", measured)
    print(f"likelihood {likelihood[4]:g} certainty {certainty[4]:g}")
