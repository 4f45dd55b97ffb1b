"""`windrow.sliding()`: Spark's `groupBy(window(…)).agg(…)` without its cost, for people who want only that.

A batch DataFrame gives a lazy DataFrame: partials are lifted in the JVM, keys are spread over the
executors, and the final step runs there, a shard at a time. A streaming DataFrame gives a builder
whose `start(home=…)` runs an engine. Windows start at multiples of the slide plus `start_time`, and
the rows are exactly those of Spark's `window()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from windrow.aggregates import AGGREGATES, OwnAggregate
from windrow.api.engine import Engine
from windrow.api.own_functions import OwnFunctions, as_arguments, is_function, is_text, named_calls
from windrow.batch.by_value import UnpickledInTask, pickled_by_value
from windrow.batch.several_passes import CollectedColumns, apart, one_pass_sql, together
from windrow.columns import (
    END_OF_TIME,
    SLICE,
    WINDOW_END,
    WINDOW_RANGE,
    WINDOW_START,
    aggregate_name,
    key_name,
    quoted,
)
from windrow.cql import Query, format_duration, parse, parse_duration
from windrow.errors import PlanError, StatementError, WindrowError, suggestion
from windrow.logical import AggregateQuery, Stream, bind
from windrow.operators.aggregate.contents_state import of_no_rows
from windrow.operators.aggregate.group_keys import GroupKeys
from windrow.operators.aggregate.window_aggregate import WindowAggregate
from windrow.planner import plan_window_aggregation, share_passes
from windrow.planner.passes.base import with_key_types
from windrow.runtime.spark.analysis import SparkAnalyst, arrow_schema, select
from windrow.runtime.spark.session import checked
from windrow.slicing import Window

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from windrow.api.live import Live

INPUT = "input"
TIMES = (WINDOW_START, WINDOW_END)


def sliding(
    df: DataFrame,
    timestamp: str,
    *,
    windows: Sequence[Any],
    aggs: Mapping[str, Any],
    keys: Sequence[str] = (),
    start_time: str = "0 seconds",
    wide: bool = False,
    delay: str = "0 seconds",
) -> Any:
    """Aggregate a DataFrame over sliding windows.

    `windows` are (range, slide) pairs, `aggs` maps a result column to a function, a column (or any
    Spark SQL expression; "*" counts rows) and what else the function takes, as in ("max_by", "x", "y")
    or ("percentile", "x", 0.9): text is a column or an expression, anything else a constant. A function
    is a name, or an `OwnAggregate` of yours. `keys` are columns or expressions to group by. The result
    has window_start, window_end, the keys and the aggregates; with several windows also `window_range`,
    which says which one a row is of, or, with `wide=True`, one row per evaluation and key and a column
    `name_range` per aggregate and window. `delay` is for streaming DataFrames: how far
    out of order rows may come.

        windrow.sliding(df, "ts", keys=["origin"], windows=[("1 hour", "1 minute"), ("24 hours", "1 minute")],
                        aggs={"delay": ("avg", "dep_delay"), "n": ("count", "*")})
    """
    _check_types(df, timestamp, windows, aggs, keys)
    spark = checked(df.sparkSession)
    calls, own = named_calls(aggs)
    spec = _Spec(
        timestamp,
        _windows(windows, start_time),
        tuple(keys),
        calls,
        wide,
        frozenset(map(str.lower, df.columns)),
        own,
    )
    spec.check(df)
    if df.isStreaming:
        return SlidingStream(df, spec, delay)
    columns = dict(zip(df.columns, arrow_schema(df.schema).types, strict=True))
    stream = Stream(INPUT, columns, spec.timestamp)
    try:
        analyst = SparkAnalyst(spark)
        functions = OwnFunctions(analyst)
        for name, function in own.items():
            functions.add(name, function)
        first = bind(spec.query(spec.windows[0]), {INPUT: stream}, analyst, functions.known)
        assert isinstance(first, AggregateQuery), "its statement has a window"
    except StatementError as error:  # its place is in a statement that the caller did not write
        raise WindrowError(f"{error.problem}; {error.hint}" if error.hint else error.problem) from error
    plans = {str(i): replace(first, window=window) for i, window in enumerate(spec.windows)}
    passes = share_passes(plans)
    frame = df.select(*spec.columns(first))
    collected = [
        select(spark, one_pass_sql(shared), {INPUT: frame}).where(F.col(SLICE).isNotNull())
        for shared in passes
    ]
    partials = together(collected) if len(passes) > 1 else collected[0]
    schema = spec.result_schema(first)
    _check_names(schema)
    final = _FinalStep(spec, tuple(plans.values()), tuple(map(CollectedColumns.of, passes)), schema)
    packed, opened = pickled_by_value(final, own.values()), UnpickledInTask()

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return opened(packed).answer(batches)

    # A shard holds many keys: a task is then one call into Python, not one a key.
    spread = [F.col(key_name(i)) for i in range(len(spec.keys))] or [F.lit(0)]
    shards = 4 * int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return partials.groupBy(F.pmod(F.hash(*spread), F.lit(shards))).applyInArrow(
        answer, from_arrow_schema(schema)
    )


def _check_types(df: Any, timestamp: Any, windows: Any, aggs: Any, keys: Any) -> None:
    if not isinstance(df, DataFrame):
        raise WindrowError(f"sliding() takes a Spark DataFrame, not {type(df).__name__}")
    if not isinstance(timestamp, str):
        raise WindrowError(f"the event-time column is given by its name, not as {type(timestamp).__name__}")
    for pair in windows:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise WindrowError(
                f"a window is a (range, slide) pair such as ('1 hour', '1 minute'), not {pair!r}"
            )
    if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
        raise WindrowError(f"keys is a list of columns or expressions, such as ['origin'], not {keys!r}")
    if not isinstance(aggs, Mapping):
        raise WindrowError("aggs maps result columns to pairs, such as {'delay': ('avg', 'dep_delay')}")
    for name, call in aggs.items():
        pair = call if isinstance(call, tuple | list) else ()
        if len(pair) < 2 or not is_function(pair[0]) or not all(map(is_text, as_arguments(pair[1]))):
            raise WindrowError(
                f"aggs[{name!r}] must be a (function, column) pair such as ('avg', 'dep_delay'), not {call!r}"
            )


def _check_names(schema: pa.Schema) -> None:
    seen: set[str] = set()
    for name in schema.names:
        if name.lower() in seen:
            raise WindrowError(f"two result columns would be called '{name}'; give one another name in aggs")
        seen.add(name.lower())


def _windows(windows: Sequence[tuple[str, str]], start_time: str) -> tuple[Window, ...]:
    start = parse_duration(start_time)
    made = []
    for pair in windows:
        length, slide = parse_duration(pair[0]), parse_duration(pair[1])
        if length <= 0 or slide <= 0:
            raise WindrowError(f"window {pair!r}: range and slide must be longer than zero")
        if slide > length:
            raise WindrowError(
                f"window {pair!r}: the slide is longer than the range, which Spark's window() refuses too; "
                "in CQL, [RANGE … SLIDE …] has a meaning for it"
            )
        made.append(Window.starting_at(length, slide, start))
    if not made:
        raise WindrowError("name at least one window, such as windows=[('1 hour', '1 minute')]")
    if len(set(made)) < len(made):
        raise WindrowError("the same window is named twice")
    return tuple(made)


@dataclass(frozen=True)
class _Spec:
    """What the caller asked for."""

    timestamp: str
    windows: tuple[Window, ...]
    keys: tuple[str, ...]
    aggs: dict[str, tuple[str, tuple[str, ...]]]
    wide: bool
    names: frozenset[str]
    """The columns of the DataFrame, in lower case."""
    own: dict[str, OwnAggregate]
    """The user's functions."""

    def check(self, df: DataFrame) -> None:
        names = {name.lower(): name for name in df.columns}
        if self.timestamp.lower() not in names:
            raise WindrowError(
                f"there is no column '{self.timestamp}'; "
                f"{suggestion(self.timestamp, df.columns) or f'the columns are {df.columns}'}"
            )
        object.__setattr__(self, "timestamp", names[self.timestamp.lower()])
        of_type = arrow_schema(df.select(quoted(self.timestamp)).schema).types[0]
        if not pat.is_timestamp(of_type):
            raise WindrowError(
                f"column '{self.timestamp}' is of type {of_type}; event time must be a TIMESTAMP"
            )
        if not self.aggs:
            raise WindrowError("name at least one aggregate, such as aggs={'n': ('count', '*')}")
        for name, call in self.aggs.items():
            if call[0].lower() not in AGGREGATES and call[0] not in self.own:
                hint = suggestion(call[0], AGGREGATES) or f"there are {', '.join(sorted(AGGREGATES))}"
                raise WindrowError(f"aggs[{name!r}]: unknown aggregate '{call[0]}'; {hint}")
        if self.wide and len({(w.slide, w.offset) for w in self.windows}) > 1:
            raise PlanError(
                "wide=True needs windows that end together: the same slide, and ranges that differ by "
                "multiples of it"
            )

    def query(self, window: Window) -> Query:
        """As a statement, over one of the windows."""
        keys = [self._column(key) for key in self.keys]
        calls = {name: f"{f}({', '.join(map(self._column, x))})" for name, (f, x) in self.aggs.items()}
        items = [*keys, *(f"{call} AS {quoted(name)}" for name, call in calls.items())]
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        text = (
            f"SELECT {', '.join(items)} FROM {INPUT} [RANGE {window.range} US SLIDE {window.slide} US "
            f"OFFSET {window.offset} US]{group}"
        )
        (statement,) = parse(text)
        assert isinstance(statement, Query)
        return statement

    def _column(self, text: str) -> str:
        """A column's name is quoted, so that it may be any; other text is an expression."""
        return quoted(text) if text.lower() in self.names else text

    def columns(self, plan: AggregateQuery) -> list[str]:
        return [quoted(name) for name in plan.scan.columns]

    def result_schema(self, plan: AggregateQuery) -> pa.Schema:
        times = [(name, plan.stream.time_type) for name in TIMES]
        outputs = [(output.name, output.type) for output in plan.outputs]
        if len(self.windows) == 1:
            return pa.schema([*times, *outputs])
        if not self.wide:
            return pa.schema([times[0], times[1], (WINDOW_RANGE, pa.string()), *outputs])
        answers = outputs[len(self.keys) :]
        columns = [(f"{n}_{_suffix(w)}", t) for w in self.windows for n, t in answers]
        return pa.schema([times[1], *outputs[: len(self.keys)], *columns])


def _suffix(window: Window) -> str:
    return format_duration(window.range).replace(" ", "_")


@dataclass(frozen=True)
class _FinalStep:
    """What a Spark task does with one shard: partials of many keys to answers."""

    spec: _Spec
    plans: tuple[AggregateQuery, ...]
    passes: tuple[CollectedColumns, ...]
    schema: pa.Schema

    def answer(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        collected = pa.Table.from_batches(batches)
        partials = [collected]
        if len(self.passes) > 1:
            partials = [
                apart(collected, number, len(self.spec.keys), shared)
                for number, shared in enumerate(self.passes)
            ]
        partials = [
            with_key_types(shared.named(table), self.plans[0])
            for shared, table in zip(self.passes, partials, strict=True)
        ]
        tables = self._answers(partials)
        if self.spec.wide and len(self.plans) > 1:
            pieces: dict[Window, list[pa.Table]] = {window: [] for window in self.spec.windows}
            for window, table in tables:
                pieces[window].append(table)
            tables = iter([(self.spec.windows[0], self._widen([*map(pa.concat_tables, pieces.values())]))])
        for _, table in tables:
            yield from table.select(self.schema.names).cast(self.schema).combine_chunks().to_batches()

    def _answers(self, partials: list[pa.Table]) -> Iterator[tuple[Window, pa.Table]]:
        """Window by window; those that end together come from one structure."""
        plan = self.plans[0]
        together: dict[tuple[int, int], list[Window]] = {}
        for window in self.spec.windows:
            together.setdefault((window.slide, window.offset), []).append(window)
        for windows in together.values():
            state = WindowAggregate(plan_window_aggregation(plan, windows))
            for table in partials:
                if len(table):
                    state.push(table)
            for window, answers in state.advance_each(END_OF_TIME):
                columns = {name: answers[name] for name in TIMES}
                if len(self.plans) > 1 and not self.spec.wide:
                    length = pa.scalar(format_duration(window.range))
                    columns[WINDOW_RANGE] = pa.repeat(length, len(answers))
                columns |= {output.name: answers[output.answer] for output in plan.outputs}
                yield window, pa.table(columns)

    def _widen(self, tables: list[pa.Table]) -> pa.Table:
        """One row an evaluation and key: those of the longest range, which has them all."""
        key_names = [output.name for output in self.plans[0].outputs[: len(self.spec.keys)]]
        by = [WINDOW_END, *key_names]
        longest = max(zip(self.spec.windows, tables, strict=True), key=lambda pair: pair[0].range)[1]
        rows = GroupKeys([longest.schema.field(name).type for name in by])
        rows.encode([longest[name].combine_chunks() for name in by])
        none = {aggregate_name(i): of_no_rows(item) for i, item in enumerate(self.plans[0].aggregates)}
        columns = {name: longest[name] for name in by}
        for window, table in zip(self.spec.windows, tables, strict=True):
            place = np.full(len(longest), -1)
            place[rows.encode([table[name].combine_chunks() for name in by])] = np.arange(len(table))
            places = pa.array(place, mask=place < 0)
            for output in self.plans[0].outputs[len(self.spec.keys) :]:
                column = table[output.name].combine_chunks().take(places)
                # What SQL says of no rows: NULL, or a count of nothing.
                assert output.answer is not None
                nothing = none[output.answer]
                columns[f"{output.name}_{_suffix(window)}"] = (
                    column.fill_null(nothing) if nothing.is_valid else column
                )
        return pa.table(columns).cast(self.schema)


class SlidingStream:
    """`sliding()` over a streaming DataFrame, to be started with a home."""

    def __init__(self, df: DataFrame, spec: _Spec, delay: str) -> None:
        if spec.wide:
            raise PlanError("wide=True is for batch DataFrames; on a stream, join the results of the windows")
        self._df = df
        self._spec = spec
        self._delay = delay
        self._engine: Engine | None = None

    def start(
        self,
        home: str | os.PathLike[str],
        *,
        sink: Callable[[int, pa.Table], None] | None = None,
        trigger: str = "1 second",
    ) -> Live:
        """Run until `stop()`. `sink(epoch, answers)` also gets the answers, at least once each."""
        return self._prepare(home, sink).start(trigger)

    def run(
        self,
        home: str | os.PathLike[str],
        *,
        sink: Callable[[int, pa.Table], None] | None = None,
        seal: bool | None = None,
    ) -> None:
        """Process what is there and return, as `Engine.run` does: the stream stays open unless seal=True."""
        self._prepare(home, sink).run(seal=seal)

    def results(self) -> DataFrame:
        """The committed answers so far."""
        if self._engine is None:
            raise WindrowError("start() it first; there are no results yet")
        frames = [self._engine.results(_name(window)) for window in self._spec.windows]
        if len(frames) == 1:
            return frames[0]
        labelled = [
            frame.select(*TIMES, F.lit(format_duration(window.range)).alias(WINDOW_RANGE), *frame.columns[2:])
            for window, frame in zip(self._spec.windows, frames, strict=True)
        ]
        union = labelled[0]
        for frame in labelled[1:]:
            union = union.unionByName(frame)
        return union

    def _prepare(self, home: str | os.PathLike[str], sink: Callable[[int, pa.Table], None] | None) -> Engine:
        engine = Engine(home, spark=self._df.sparkSession)
        engine.stream(INPUT, self._df, timestamp=self._spec.timestamp, delay=self._delay)
        for name, own in self._spec.own.items():
            engine.aggregate(name, own)
        for window in self._spec.windows:
            engine.query(_name(window), self._spec.query(window).select_sql, sink)
        self._engine = engine
        return engine


def _name(window: Window) -> str:
    return f"sliding_{_suffix(window)}_every_{format_duration(window.slide).replace(' ', '_')}"
