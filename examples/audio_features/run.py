"""Hears a stream in three pieces, and tells of the last step of each. Usage: run.py ARTIFACT"""

import itertools
import sys

import numpy as np

import polystate as ps

HOP = 160

session = ps.load(sys.argv[1]).session()
places = np.arange(30 * HOP)
stream = ((places * 7 % 11 - 5) / np.float32(5)).astype(np.float32).reshape(-1, HOP)
for first, last in itertools.pairwise([0, 2, 10, 30]):
    (features,) = session.run("hear", stream[first:last])
    print(f"middle {features[-1, 20]:g} highest {features[-1, 39]:g}")
