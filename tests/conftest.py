"""Shared by all tests: Hypothesis profiles, options for Java, and one Spark session for the whole run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.quick_java import QUICK_JAVA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

settings.register_profile(
    "windrow",
    deadline=None,
    max_examples=60,
    derandomize=False,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# An example that runs Spark takes a second; shrinking one would take hundreds of them.
settings.register_profile(
    "spark",
    settings.get_profile("windrow"),
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
settings.load_profile("windrow")
os.environ.setdefault("JAVA_TOOL_OPTIONS", QUICK_JAVA)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session; Engine() picks it up too."""
    from windrow.runtime.session import local_session

    session = local_session("windrow-tests")
    yield session
    session.stop()


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Random statements are interpreted by Spark; those that are always the same are compiled, as users' are."""
    from tests.oracle import interpreting

    with interpreting(spark):
        yield
