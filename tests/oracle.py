"""Spark's own `window()` as the judge, and what "equal" means.

Integers, decimals, strings, counts, MIN and MAX must be identical. Float sums and averages may differ
by 1e-9 of the sum of the absolute values that went in, variances by 1e-9 of the squares, because the
order of rows changes Spark's own sums.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from windrow.slicing import Window


@contextmanager
def interpreting(spark: SparkSession) -> Iterator[None]:
    """For few rows and statements that never come again: Spark answers long before it has compiled them."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


def native(
    df: DataFrame, window: Window, keys: list[str], aggs: dict[str, str], timestamp: str = "ts"
) -> DataFrame:
    """Spark's answer: result column → aggregate expression; weights for float tolerances are added."""
    length, slide = f"{window.range} microseconds", f"{window.slide} microseconds"
    if window.slide <= window.range:
        start = (window.offset - window.range) % window.slide
        grouped = df.groupBy(F.window(timestamp, length, slide, f"{start} microseconds").alias("w"), *keys)
    else:
        # Spark refuses a slide longer than the range: a tumbling window of the slide, and its last part.
        tumbling = df.withColumn("w", F.window(timestamp, slide, slide, f"{window.offset} microseconds"))
        inside = F.expr(f"unix_micros({timestamp}) >= unix_micros(w.end) - {window.range}")
        grouped = tumbling.where(inside).groupBy("w", *keys)
    columns = [F.expr(expression).alias(name) for name, expression in aggs.items()]
    result = grouped.agg(*columns)
    start_us = F.expr(f"timestamp_micros(unix_micros(w.end) - {window.range})")
    return result.select(start_us.alias("window_start"), F.col("w.end").alias("window_end"), *keys, *aggs)


def weights(column: str) -> dict[str, str]:
    """Columns that say how much a float aggregate of `column` may differ."""
    x = f"CAST({column} AS DOUBLE)"
    return {f"_abs_{column}": f"sum(abs({x}))", f"_squares_{column}": f"sum({x} * {x})"}


def assert_same_answers(
    got: DataFrame, expected: DataFrame, keys: list[str], tolerances: dict[str, str] | None = None
) -> int:
    """Compare row by row; `tolerances` maps a float column to the weight column of `expected`."""
    tolerances = tolerances or {}
    place = ["window_start", "window_end", *keys]
    mine, theirs = _by_place(got, place), _by_place(expected, place)
    assert mine.keys() == theirs.keys(), _difference(mine, theirs)
    values = [name for name in got.columns if name not in place]
    for row in mine:
        for name in values:
            a, b = mine[row][name], theirs[row][name]
            weight = theirs[row][tolerances[name]] if name in tolerances else 0
            assert same(a, b, weight or 0), f"{name} at {row}: {a!r}, Spark says {b!r}"
    return len(mine)


def same(a: Any, b: Any, weight: float) -> bool:
    """Whether two values are equal, a float within 1e-9 of the weight."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, weight) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        if math.isinf(a) or math.isinf(b):
            return a == b
        return a == b or abs(a - b) <= 1e-9 * abs(weight)
    return bool(a == b and type(a) is type(b))


def _by_place(frame: DataFrame, place: list[str]) -> dict[tuple[Any, ...], Any]:
    rows = frame.collect()
    by = {tuple(_key(row[name]) for name in place): row for row in rows}
    assert len(by) == len(rows), "a window and key was answered twice"
    return by


def _key(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _difference(mine: dict[Any, Any], theirs: dict[Any, Any]) -> str:
    extra = sorted(map(str, mine.keys() - theirs.keys()))[:3]
    missing = sorted(map(str, theirs.keys() - mine.keys()))[:3]
    return f"{len(mine)} rows, Spark has {len(theirs)}; extra {extra}, missing {missing}"
