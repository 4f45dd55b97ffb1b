"""A local Spark session as Windrow starts it.

It is asked for through the public face: where it is made inside has moved before, and a benchmark that needs
nothing else from inside runs on other commits too (`_side_by_side.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session() -> SparkSession:
    """The running session, or a new one."""
    from windrow import Engine

    with Engine() as engine:
        return engine.spark
