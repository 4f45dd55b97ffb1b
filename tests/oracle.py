"""Spark's own `window()` as the judge, DuckDB where it is not about Spark, and what "equal" means.

Integers, decimals, strings, counts, MIN and MAX must be identical. Float sums and averages may differ
by 1e-9 of the sum of the absolute values that went in, variances by 1e-9 of the squares, because the
order of rows changes Spark's own sums.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


def recomputed(
    rows: pa.Table, window: Window, keys: list[str], aggs: dict[str, str], where: str = "true"
) -> list[dict[str, Any]]:
    """DuckDB's answer, ten times as soon as Spark's: every row is copied into its windows, and grouped.

    For tests of what becomes of batches, restarts and queries, over values on which all databases agree.
    """
    in_microseconds = pa.timestamp("us", rows["ts"].type.tz)
    at = rows["ts"].cast(in_microseconds).cast(pa.int64()).to_numpy() - window.offset
    first, last = at // window.slide + 1, (at + window.range) // window.slide
    copies = last - first + 1
    source = np.repeat(np.arange(len(rows)), copies)
    number = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies) + np.repeat(first, copies)
    copied = rows.take(source).append_column("_end", pa.array(number * window.slide + window.offset))
    calls = [f"{expression} AS {name}" for name, expression in aggs.items()]
    group = ", ".join(["_end", *keys])
    with duckdb.connect() as database:
        database.register("copied", copied)
        found = database.sql(
            f"SELECT {', '.join([group, *calls])} FROM copied WHERE {where} GROUP BY {group}"
        )
        answers = found.to_arrow_table().to_pylist()
    for row in answers:
        end = row.pop("_end")
        row["window_start"], row["window_end"] = (
            _as_spark_gives_it(end - window.range),
            _as_spark_gives_it(end),
        )
    return answers


def _as_spark_gives_it(instant: int) -> datetime:
    """A timestamp that Spark hands to Python: by the local clock, without a time zone."""
    return datetime.fromtimestamp(instant // 1_000_000).replace(microsecond=instant % 1_000_000)


def weights(column: str) -> dict[str, str]:
    """Columns that say how much a float aggregate of `column` may differ."""
    x = f"CAST({column} AS DOUBLE)"
    return {f"_abs_{column}": f"sum(abs({x}))", f"_squares_{column}": f"sum({x} * {x})"}


def assert_same_answers(
    got: DataFrame,
    expected: DataFrame | list[dict[str, Any]],
    keys: list[str],
    tolerances: dict[str, str] | None = None,
) -> int:
    """Compare row by row; `tolerances` maps a float column to the weight column of `expected`."""
    tolerances = tolerances or {}
    place = ["window_start", "window_end", *keys]
    judged = expected if isinstance(expected, list) else expected.collect()
    mine, theirs = _by_place(got.collect(), place), _by_place(judged, place)
    assert mine.keys() == theirs.keys(), _difference(mine, theirs)
    values = [name for name in got.columns if name not in place]
    for row in mine:
        for name in values:
            a, b = mine[row][name], theirs[row][name]
            weight = theirs[row][tolerances[name]] if name in tolerances else 0
            assert same(a, b, weight or 0), f"{name} at {row}: {a!r}, the judge says {b!r}"
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


def _by_place(rows: Sequence[Mapping[str, Any]], place: list[str]) -> dict[tuple[Any, ...], Any]:
    by = {tuple(_key(row[name]) for name in place): row for row in rows}
    assert len(by) == len(rows), "a window and key was answered twice"
    return by


def _key(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _difference(mine: dict[Any, Any], theirs: dict[Any, Any]) -> str:
    extra = sorted(map(str, mine.keys() - theirs.keys()))[:3]
    missing = sorted(map(str, theirs.keys() - mine.keys()))[:3]
    return f"{len(mine)} rows, the judge has {len(theirs)}; extra {extra}, missing {missing}"
