"""Settings of all Python tests."""

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
