"""Settings of all Python tests."""

import os

# Workers side by side, and programs that they start, would wait for one another's threads. torch
# reads this when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

# The same cases on every machine, however slow and busy it is.
settings.register_profile(
    "hermetic",
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("hermetic")
