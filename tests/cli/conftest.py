"""A command line to type on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from windrow.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result
    from pyspark.sql import SparkSession


@pytest.fixture
def windrow(spark: SparkSession) -> Callable[..., Result]:
    """`windrow("run", "q.cql")` runs the command in the session of the tests."""

    def run(*arguments: str, text: str | None = None) -> Result:
        return CliRunner().invoke(main, arguments, input=text, catch_exceptions=False)

    return run
