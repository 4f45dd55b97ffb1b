"""Shared by all tests: the Hypothesis profile, and one Spark session for the whole run."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "windrow", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("windrow")
