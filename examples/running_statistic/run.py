"""Feeds measurements in two parts, then starts anew. Usage: run.py ARTIFACT"""

import sys

import numpy as np

import polystate as ps


def report(session: ps.Session) -> None:
    mean, variance = session.run("read")
    print(f"mean {mean:.4f} variance {variance:.4f}")


session = ps.load(sys.argv[1]).session()
report(session)  # the prior that the model was exported with
session.run("update", np.array([18.5, 21.25, 19.0], dtype=np.float32))
session.run("update", np.array([22.75], dtype=np.float32))
report(session)
session.run("start", np.float32(15.0))
session.run("update", np.array([16.0, 17.0], dtype=np.float32))
report(session)
session.reset()
report(session)
