"""Counts a stream in two parts, and asks for quantiles after each. Usage: run.py ARTIFACT"""

import sys

import numpy as np

import polystate as ps

session = ps.load(sys.argv[1]).session()
stream = (np.arange(3000) * 37 % 1000 / np.float32(10)).astype(np.float32)


def add(values: np.ndarray) -> None:
    (count,) = session.run("add", values)
    (found,) = session.run("quantiles", np.array([0.1, 0.5, 0.99], dtype=np.float32))
    low, middle, high = found
    print(f"count {count} low {low:g} median {middle:g} high {high:g}")


add(stream[:500])
add(stream[500:])
