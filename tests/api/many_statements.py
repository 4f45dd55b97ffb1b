"""Many statements on one engine, whose streams are fed by hand; and what is right of the results of each."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

import windrow
from tests.api.random_queries import DELAY
from tests.harness.micro_batches import feeding
from tests.window_contents import (
    Change,
    check_takings_back,
    comparable,
    states,
    timed,
    with_whole_times,
    without_empty,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyarrow import Table
    from pyspark.sql import SparkSession

    from tests.harness.micro_batches import Feed
    from tests.window_contents import Asked, Row, WindowContents


def engine_for(
    spark: SparkSession, home: Path, schemas: Mapping[str, pa.Schema], statements: Sequence[Asked]
) -> windrow.Engine:
    """An engine with the statements as queries q0, q1, …; over streams that are fed by hand."""
    engine = windrow.Engine(home, spark=spark, nodes=1)
    for name, schema in schemas.items():
        empty = spark.createDataFrame(schema.empty_table())
        engine.stream(name, empty, timestamp="ts", delay=f"{DELAY} seconds")
    for number, asked in enumerate(statements):
        engine.query(f"q{number}", asked.cql)
    return engine


def feed_one(feed: Feed, spark: SparkSession, epoch: Mapping[str, Table], batches: dict[str, int]) -> None:
    """Commit what comes of each stream in an epoch; `batches` counts those of each stream."""
    feed.together({name: (spark.createDataFrame(rows), batches[name]) for name, rows in epoch.items()})
    for name in epoch:
        batches[name] += 1


def answered(
    spark: SparkSession,
    home: Path,
    statements: Sequence[Asked],
    epochs: Sequence[Mapping[str, Table]],
    restarts: Collection[int] = (),
) -> list[Table]:
    """The results of each statement over streams that come in some epochs, and are sealed then; before some of the
    epochs, by their numbers, another engine takes over."""
    schemas = {name: rows.schema for epoch in epochs for name, rows in epoch.items()}
    batches = dict.fromkeys(schemas, 0)
    with ExitStack() as held:
        for number, epoch in enumerate(epochs):
            if number == 0 or number in restarts:
                held.close()
                engine = held.enter_context(engine_for(spark, home, schemas, statements))
                feed = held.enter_context(feeding(engine, *schemas))
            feed_one(feed, spark, epoch, batches)
        for name in schemas:
            feed.seal(name)
        assert [query.quarantined for query in engine.status().queries if query.quarantined] == []
        return [engine.results(f"q{number}").toArrow() for number in range(len(statements))]


def assert_right(asked: Asked, results: Table, contents: WindowContents) -> None:
    """See that results are what DuckDB has over the contents of the windows, at each instant."""
    if asked.slide is not None:
        answers = contents.evaluations(asked)
        expected = answers if asked.delivery == "R" else contents.differences(asked)[asked.delivery]
        _assert_same(asked, timed(results, "window_end"), expected)
        _assert_starts(asked, results)
    elif asked.delivery != "R":
        _assert_same(asked, timed(results, "_ts"), contents.differences(asked)[asked.delivery])
    else:
        changes = Change.of(results)
        try:
            check_takings_back(changes, asked.takes_back)
        except AssertionError as wrong:
            raise AssertionError(f"{asked}\n{wrong}") from None
        answers = contents.answers(asked)
        _assert_same(asked, states(changes, answers), answers)


def assert_lifetimes(asked: Asked, results: Table, contents: WindowContents) -> None:
    """See that each result of a join comes and ends when the rows of windows do that it is of."""
    changes = Counter((one.ts, one.exp, comparable(one.row)) for one in Change.of(results))
    expected = contents.lifetimes(asked)
    assert changes == expected, f"{asked}\ntoo many: {changes - expected}\nmissing: {expected - changes}"


def assert_same_results(asked: Asked, one: Table, other: Table) -> None:
    """See that results are the same rows, to the bit, in whatever order."""
    first, second = (Counter(map(repr, with_whole_times(rows).to_pylist())) for rows in (one, other))
    assert first == second, f"{asked}\nonly one has {first - second}\nonly the other has {second - first}"


def _assert_same(asked: Asked, got: Mapping[int, Counter[Row]], expected: Mapping[int, Counter[Row]]) -> None:
    """Compare answers by their instants, and tell the first difference."""
    found, right = without_empty(got), without_empty(expected)
    for at in sorted(found.keys() | right.keys()):
        mine, theirs = found.get(at, Counter()), right.get(at, Counter())
        assert mine == theirs, f"{asked}\nat {at}: too many {mine - theirs}, missing {theirs - mine}"


def _assert_starts(asked: Asked, results: Table) -> None:
    """A window has a start where all are equally long."""
    ranges = {window.range for window in asked.windows}
    length = ranges.pop() if len(ranges) == 1 else None
    assert ("window_start" in results.column_names) == (length is not None), f"{asked}: {results.schema}"
    if length is not None:
        rows = with_whole_times(results)
        starts, ends = rows["window_start"].to_pylist(), rows["window_end"].to_pylist()
        assert all(end - start == length for start, end in zip(starts, ends, strict=True)), str(asked)
