"""Shared by all tests: random examples, options for Java, and one Spark session for each process of a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.examples import register_profiles
from tests.quick_java import QUICK_JAVA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

register_profiles()
os.environ.setdefault("JAVA_TOOL_OPTIONS", QUICK_JAVA)
if (worker := os.environ.get("PYTEST_XDIST_WORKER")) and "NUMBA_CACHE_DIR" in os.environ:
    # Numba numbers the files of a function without a lock: two that write at once could mix them up.
    os.environ["NUMBA_CACHE_DIR"] += f"/{worker}"


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
