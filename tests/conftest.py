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


LONGEST_FIRST = (
    "tests/soak/",
    "tests/test_readme.py",
    "tests/api/",
    "tests/runtime/",
    "tests/benchmarks/",
    "tests/cli/",
)
"""The places whose files take longest, so that the processes of a run, which take file by file, end together."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by place, files and tests staying in their order."""

    def rank(item: pytest.Item) -> int:
        ranks = (n for n, place in enumerate(LONGEST_FIRST) if item.nodeid.startswith(place))
        return next(ranks, len(LONGEST_FIRST))

    items.sort(key=rank)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session; Engine() picks it up too."""
    from windrow.runtime.spark.session import local_session

    session = local_session("windrow-tests")
    yield session
    session.stop()


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Random statements are interpreted by Spark; those that are always the same are compiled, as users' are."""
    from tests.oracle import interpreting

    with interpreting(spark):
        yield
