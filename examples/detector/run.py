"""Listens to a stream in pieces, as they come. Usage: run.py ARTIFACT"""

import itertools
import sys

import numpy as np

import polystate as ps

CHANNELS = 3

session = ps.load(sys.argv[1]).session()
places = np.arange(57 * CHANNELS)
stream = ((places * 7 % 11 - 5) / np.float32(5)).astype(np.float32).reshape(-1, CHANNELS)


def listen(samples: np.ndarray) -> None:
    scores, level = session.run("listen", samples)
    print(f"score {scores[-1]:g} level {level:g}")


for first, last in itertools.pairwise([0, 1, 20, 25, 57]):
    listen(stream[first:last])
session.reset()  # another stream
listen(stream[:1])
