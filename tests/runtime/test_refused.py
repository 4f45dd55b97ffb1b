"""Rows that enter no window: which they are, why, and where they come from, through a real stream."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from windrow.columns import END_OF_TIME, FILE, POSITION, RAW, quoted
from windrow.errors import SourceError
from windrow.logical import Stream
from windrow.planner import Bounds
from windrow.runtime.spark.analysis import arrow_schema, reason
from windrow.runtime.spark.refused import dead_rows, late_rows
from windrow.runtime.spark.sources import FileSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, Row, SparkSession

DAY = 86_400_000_000
NOON = 1_704_110_400_000_000  # 2024-01-01 12:00:00
COLUMNS = "ts TIMESTAMP, k STRING, value DOUBLE, n TINYINT"
T = "2024-01-01 12:00:00"


class Read:
    """A stream read to its end: what `look` saw in each batch, and how many rows each had."""

    def __init__(
        self,
        spark: SparkSession,
        source: FileSource,
        folder: Path,
        look: Callable[..., list[Row]],
        use: tuple[str, ...] = (),
    ) -> None:
        columns = dict(zip((s := arrow_schema(source.read(spark).schema)).names, s.types, strict=True))
        self.stream = Stream("s", columns, next(iter(columns)), text=source.is_text)
        self.rows: list[Row] = []
        self.batches: list[int] = []
        frame = source.read_stream(spark)
        if use:
            frame = frame.select(*map(quoted, use), *([RAW] if source.is_text else []))

        def process(batch: DataFrame, _: int) -> None:
            self.rows += look(self.stream, batch)
            self.batches.append(batch.count())

        writer = frame.writeStream.foreachBatch(process).option(
            "checkpointLocation", str(folder / "checkpoint")
        )
        writer.trigger(availableNow=True).start().awaitTermination()


def file_of(folder: Path, *texts: str | bytes) -> Path:
    data = folder / "data"
    data.mkdir()
    for number, text in enumerate(texts):
        (data / f"part {number}+a.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return data


def reasons(
    spark: SparkSession,
    folder: Path,
    format: str,
    text: str | bytes,
    columns: str = COLUMNS,
    use: tuple[str, ...] = ("ts",),
    **options: str,
) -> list[tuple[str, str]]:
    """Reason and text of each dead letter, in the order of the file."""
    source = FileSource(str(file_of(folder, text)), format, columns, options)
    look = lambda stream, batch: dead_rows(stream, batch, Bounds(), source).collect()  # noqa: E731
    return [(row._reason, row._raw) for row in Read(spark, source, folder, look, use).rows]


CSV = {
    f"{T},a,1.5,3": None,
    f"{T},a,,": None,
    f"{T},,1,1": None,
    f"{T},a,1e400,3": None,
    f'{T},"a, b",1,3': None,
    "1890-01-01 00:00:00,a,1,1": None,
    "2024-01-01,a,1,1": None,
    f"{T},a,abc,3": "value is 'abc', not DOUBLE",
    f"{T},a,1.5,300": "n is '300', not TINYINT",
    f"{T},a,abc,300": "value is 'abc', not DOUBLE; n is '300', not TINYINT",
    f"{T},a,1.5, 3": "n is ' 3', not TINYINT",
    "2024-13-01 00:00:00,a,1,1": "ts is '2024-13-01 00:00:00', not TIMESTAMP",
    "soon,a,1,1": "ts is 'soon', not TIMESTAMP",
    f"{T},a": "2 values where 4 columns are declared",
    "nothing": "1 value where 4 columns are declared",
    f"{T},a,1,1,1": "5 values where 4 columns are declared",
    f"{T},a,1,1,": "5 values where 4 columns are declared",
    f"{T},a,1,1" + ",1" * 200: "more than 23 values where 4 columns are declared",
    f'{T},"a,1,1': "a quote is opened and not closed",
    "TS,k,value,n": "the names of the columns, not values: OPTIONS (header 'true') skips them",
    f"{T},a,{'x' * 100},1": f"value is '{'x' * 60}…', not DOUBLE",
}

JSON = {
    f'{{"ts":"{T}","k":"a","value":1.5,"n":3}}': None,
    f'{{"ts":"{T}","extra":[1]}}': None,
    f'{{"ts":"{T}","value":null}}': None,
    f'{{"ts":"{T}","k":7,"value":1e400}}': None,
    f'[{{"ts":"{T}"}},{{"ts":"{T}"}}]': None,
    f'{{"ts":"{T}","value":"abc"}}': "value is 'abc', not DOUBLE",
    f'{{"ts":"{T}","value":"1.5"}}': "value is '1.5', not DOUBLE",
    f'{{"ts":"{T}","value":true}}': "value is true, not DOUBLE",
    f'{{"ts":"{T}","value":""}}': "value is '', not DOUBLE",
    f'{{"ts":"{T}","n":300}}': "n is 300, not TINYINT",
    f'{{"ts":"{T}","n":3.7}}': "n is 3.7, not TINYINT",
    '{"ts":"soon"}': "ts is 'soon', not TIMESTAMP",
    '{"ts":"soon","n":"x"}': "ts is 'soon', not TIMESTAMP; n is 'x', not TINYINT",
    f'{{"ts":"{T}","val': "not a JSON object",
    "[1, 2]": "a JSON array, and not each of its elements is an object of the declared columns",
    "5": "not a JSON object",
    '"text"': "not a JSON object",
    "null": "not a JSON object",
    "nonsense": "not a JSON object",
}


@pytest.mark.parametrize(("format", "lines"), [("csv", CSV), ("json", JSON)])
def test_a_line_that_cannot_be_read_says_why(
    spark: SparkSession, tmp_path: Path, format: str, lines: dict[str, str | None]
) -> None:
    text = "\n\n".join(lines) + "\n\n"  # blank lines are nothing
    expected = [(why, line) for line, why in lines.items() if why is not None]
    assert reasons(spark, tmp_path, format, text) == expected


@pytest.mark.parametrize(
    ("format", "line"), [("csv", f"{T},a,abc,3\n"), ("json", f'{{"ts":"{T}","value":"abc"}}\n')]
)
@pytest.mark.parametrize("use", [("ts",), ("ts", "k"), ("ts", "value"), ("ts", "k", "value", "n")])
def test_a_line_is_bad_whichever_columns_are_in_use(
    spark: SparkSession, tmp_path: Path, format: str, line: str, use: tuple[str, ...]
) -> None:
    assert reasons(spark, tmp_path, format, line, use=use) == [("value is 'abc', not DOUBLE", line.strip())]


OPTIONS: list[tuple[str, str | bytes, dict[str, str], list[str]]] = [
    ("csv", f"ts,k,value,n\n{T},a,x,2\n", {"header": "true"}, ["value is 'x', not DOUBLE"]),
    ("csv", f"{T}\ta\tx\t2\n{T}\ta\n", {"sep": "\\t"}, ["value is 'x', not DOUBLE", "2 values where 4 columns are declared"]),
    ("csv", f"{T};a;x;2\n", {"delimiter": ";"}, ["value is 'x', not DOUBLE"]),
    ("csv", f'{T},"a\nb",x,2\n{T},"a\nb",1,2\n', {"multiLine": "true"}, ["value is 'x', not DOUBLE"]),
    ("csv", f"{T},ä,ö,2\n".encode("latin-1"), {"encoding": "ISO-8859-1"}, ["value is 'ö', not DOUBLE"]),
    ("csv", f"01.02.2024 10:00,a,1,2\n{T},a,1,2\n", {"timestampFormat": "dd.MM.yyyy HH:mm"}, [f"ts is '{T}', not TIMESTAMP"]),
    ("csv", f"{T},a,-,2\n{T},a,x,2\n", {"nullValue": "-"}, ["value is 'x', not DOUBLE"]),
    ("json", f'{{"ts":"{T}",\n"value":"x"}}', {"multiLine": "true"}, ["value is 'x', not DOUBLE"]),
]  # fmt: skip


@pytest.mark.parametrize(("format", "text", "options", "expected"), OPTIONS)
def test_a_line_is_judged_with_the_options_of_its_stream(
    spark: SparkSession,
    tmp_path: Path,
    format: str,
    text: str | bytes,
    options: dict[str, str],
    expected: list[str],
) -> None:
    assert [why for why, _ in reasons(spark, tmp_path, format, text, **options)] == expected


def test_nested_values_are_named_by_their_column(spark: SparkSession, tmp_path: Path) -> None:
    line = f'{{"ts":"{T}","at":{{"x":"here"}}}}'
    found = reasons(spark, tmp_path, "json", line, "ts TIMESTAMP, at STRUCT<x: INT>")
    assert found == [("a value inside at is not of its declared type", line)]


@pytest.mark.parametrize("mode", ["dropMalformed", "PERMISSIVE"])
def test_the_mode_of_the_user_wins(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    source = FileSource(str(file_of(tmp_path, f"{T},a,x,2\n{T},a,1,2\n")), "csv", COLUMNS, {"MODE": mode})
    seen = Read(spark, source, tmp_path, lambda _, batch: batch.collect(), ("ts", "k")).rows
    assert [row[RAW] for row in seen] == [None] * (1 if mode == "dropMalformed" else 2)


def test_failfast_stops_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    source = FileSource(str(file_of(tmp_path, f"{T},a,x,2\n")), "csv", COLUMNS, {"mode": "failfast"})
    with pytest.raises(Exception, match="Malformed records are detected"):
        Read(spark, source, tmp_path, lambda _, batch: batch.collect(), ("ts",))


def test_a_table_does_not_take_bad_lines(spark: SparkSession, tmp_path: Path) -> None:
    source = FileSource(str(file_of(tmp_path, f"{T},a,x,2\n")), "csv", COLUMNS)
    with pytest.raises(Exception, match="Malformed records are detected"):
        source.read(spark).collect()


def test_our_own_names_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    source = FileSource(str(file_of(tmp_path, "")), "csv", "ts TIMESTAMP, _Windrow_raw STRING")
    with pytest.raises(SourceError, match="has a column '_Windrow_raw': names that begin with _windrow_"):
        source.read(spark)


# event times

WILD = {
    "NULL": "ts is NULL: a row without event time",
    "'1969-12-31 23:59:59.999999'": None,
    "'0001-01-01 00:00:00'": None,
    "'9999-12-31 23:59:59.999999'": None,
    "'0000-12-31 23:59:59.999999'": "ts is in the year 0: event time must be in the years 1 to 9999",
    "'-2000-06-01 00:00:00'": "ts is in the year -2000: event time must be in the years 1 to 9999",
    "'+10000-01-01 00:00:00'": "ts is in the year 10000: event time must be in the years 1 to 9999; milliseconds taken for seconds?",
    "'+50000-01-01 00:00:00'": "ts is in the year 50000: event time must be in the years 1 to 9999; milliseconds taken for seconds?",
    "'+294247-01-10 04:00:54.775807'": "ts is in the year 294247: event time must be in the years 1 to 9999; milliseconds taken for seconds?",
    "'-290307-01-01 00:00:00'": "ts is in the year -290307: event time must be in the years 1 to 9999",
}


def rows_of(
    spark: SparkSession, times: Any, of_type: str = "TIMESTAMP", column: str = "ts"
) -> tuple[Stream, DataFrame]:
    values = ", ".join(f"({number}, CAST({time} AS {of_type}))" for number, time in enumerate(times))
    batch = spark.sql(f"SELECT ts AS {quoted(column)}, id FROM VALUES {values} AS t(id, ts)")
    schema = arrow_schema(batch.schema)
    return Stream("s", dict(zip(schema.names, schema.types, strict=True)), column), batch


@pytest.mark.parametrize("of_type", ["TIMESTAMP", "TIMESTAMP_NTZ"])
@pytest.mark.parametrize("time", WILD)
def test_wild_event_times(spark: SparkSession, of_type: str, time: str) -> None:
    stream, batch = rows_of(spark, [time], of_type)
    found = [row._reason for row in dead_rows(stream, batch, Bounds(), None).collect()]
    assert found == [why for why in [WILD[time]] if why is not None]


@pytest.mark.parametrize("of_type", ["TIMESTAMP", "TIMESTAMP_NTZ"])
@pytest.mark.parametrize(("skew", "words"), [(None, "1 day"), (5_400_000_000, "90 minutes")])
def test_ahead_of_the_clock(spark: SparkSession, of_type: str, skew: int | None, words: str) -> None:
    stream, batch = rows_of(
        spark, ["'2024-01-01 12:00:00'", "'2150-01-01 00:00:00'", "'+50000-01-01 00:00:00'"], of_type
    )
    stream = Stream("s", stream.columns, "ts", skew=skew)
    bounds = Bounds(None, NOON + (DAY if skew is None else skew))
    ahead, beyond = dead_rows(stream, batch, bounds, None).collect()
    assert (
        ahead._reason
        == f"ts 2150-01-01 00:00:00 is ahead of the clock (2024-01-01 12:00:00) by more than the SKEW of {words}"
    )
    assert beyond._reason.startswith("ts is in the year 50000: ")
    assert ahead._raw.startswith('{"ts":"2150-01-01T00:00:00.000')
    assert ahead._raw.endswith('"id":1}')


# late rows


def test_late_rows_say_how_late(spark: SparkSession) -> None:
    times = [
        "'2024-01-01 12:00:00'",
        "'2024-01-01 11:59:59.999999'",
        "'2023-12-30 10:58:57'",
        "'1969-01-01 00:00:00'",
        "NULL",
        "'0000-01-01 00:00:00'",
    ]
    stream, batch = rows_of(spark, times)
    late = late_rows(stream, batch, Bounds(watermark=NOON)).orderBy("id").collect()
    assert [(row.id, row._late_by) for row in late] == [
        (1, timedelta(microseconds=1)),
        (2, timedelta(days=2, hours=1, minutes=1, seconds=3)),
        (3, timedelta(days=20_088, hours=12)),
    ]
    assert late_rows(stream, batch, Bounds()).collect() == []
    dead = dead_rows(stream, batch, Bounds(watermark=NOON), None).collect()
    assert len(dead) == 2  # a row is dead before it is late


def test_how_late_does_not_depend_on_the_time_zone(spark: SparkSession) -> None:
    stream, batch = rows_of(spark, ["timestamp_micros(1711846800000000)"])  # summer time begins in between
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        (row,) = late_rows(stream, batch, Bounds(watermark=1_711_846_800_000_000 + DAY)).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert row._late_by == timedelta(days=1)


def test_after_the_seal_nobody_knows_how_late(spark: SparkSession) -> None:
    stream, batch = rows_of(spark, ["'2024-01-01 12:00:00'"])
    (row,) = late_rows(stream, batch, Bounds(watermark=END_OF_TIME)).collect()
    assert row._late_by is None


# names and places

ODD = "`the time` TIMESTAMP, `it's ``odd``` STRING, `_raw` DOUBLE, epoch INT, `_file` STRING, `a.b` INT"


def test_odd_names(spark: SparkSession, tmp_path: Path) -> None:
    good, bad = f"{T},x,1,2,mine,3", f"{T},x,y,2,mine,z"
    source = FileSource(str(file_of(tmp_path, f"{good}\n{bad}\n")), "csv", ODD)
    bounds = Bounds(watermark=NOON + 1)

    def look(stream: Stream, batch: DataFrame) -> list[Row]:
        late, dead = late_rows(stream, batch, bounds), dead_rows(stream, batch, bounds, source)
        return [*late.collect(), *dead.collect()]

    late, dead = Read(spark, source, tmp_path, look).rows
    assert late.asDict() | {"_late_by": None, "the time": None} == {
        "the time": None, "it's `odd`": "x", "_raw": 1.0, "epoch": 2, "_file_": "mine", "a.b": 3,
        "_late_by": None, "_query": None, "_file": str(tmp_path / "data" / "part 0+a.txt"), "_position": None,
    }  # fmt: skip
    assert (dead._reason, dead._raw) == ("_raw is 'y', not DOUBLE; a.b is 'z', not INT", bad)


def test_an_odd_event_time(spark: SparkSession) -> None:
    stream, batch = rows_of(spark, ["NULL"], column="it's\\ `when`")
    (row,) = dead_rows(stream, batch, Bounds(), None).collect()
    assert row._reason == "it's\\ `when` is NULL: a row without event time"
    assert row._raw == '{"it\'s\\\\ `when`":null,"id":0}'


def test_the_file_is_known_by_its_path(spark: SparkSession, tmp_path: Path) -> None:
    source = FileSource(str(file_of(tmp_path, f"{T},0,x,1\n", f"{T},1,x,1\n")), "csv", COLUMNS)
    bounds = Bounds()

    def look(stream: Stream, batch: DataFrame) -> list[Row]:
        found = dead_rows(stream, batch, bounds, source).collect()
        marked = (
            batch.withColumn(FILE, F.input_file_name())
            .withColumn(POSITION, F.lit(7).cast("bigint"))
            .persist()
        )
        kept = dead_rows(stream, marked, bounds, source).collect()
        lost = dead_rows(stream, batch.persist(), bounds, source).collect()
        return [*found, *kept, *lost]

    rows = [
        (row._raw.split(",")[1], row._file, row._position) for row in Read(spark, source, tmp_path, look).rows
    ]
    paths = [("0", str(tmp_path / "data" / "part 0+a.txt")), ("1", str(tmp_path / "data" / "part 1+a.txt"))]
    assert sorted(rows[:2]) == [(*path, None) for path in paths]
    assert sorted(rows[2:4]) == [(*path, 7) for path in paths]
    assert sorted(rows[4:]) == [("0", None, None), ("1", None, None)]


# batches of bounded size, and sources that change


def test_a_file_larger_than_the_bound_is_one_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windrow.runtime.spark.sources.BATCH_BYTES", 100)
    line = f"{T},a,1,1\n"
    source = FileSource(str(file_of(tmp_path, line, line * 50, line, line)), "csv", COLUMNS)
    batches = Read(spark, source, tmp_path, lambda *_: []).batches
    assert sum(batches) == 53
    assert len(batches) > 1
    assert max(batches) >= 50


def test_the_user_bounds_batches(spark: SparkSession, tmp_path: Path) -> None:
    line = f"{T},a,1,1\n"
    source = FileSource(str(file_of(tmp_path, *[line] * 3)), "csv", COLUMNS, {"MaxFilesPerTrigger": "1"})
    assert Read(spark, source, tmp_path, lambda *_: []).batches == [1, 1, 1]


@pytest.mark.parametrize("columns", [None, "ts TIMESTAMP, v INT"])
def test_a_parquet_stream_may_gain_a_column(spark: SparkSession, tmp_path: Path, columns: str | None) -> None:
    source = FileSource(str(tmp_path / "data"), columns=columns)
    spark.sql(f"SELECT TIMESTAMP '{T}' AS ts, 1 AS v").write.parquet(source.path)
    assert [row.v for row in Read(spark, source, tmp_path, lambda _, batch: batch.collect()).rows] == [1]
    spark.sql(f"SELECT TIMESTAMP '{T}' AS ts, 'x' AS w, 2 AS v").write.mode("append").parquet(source.path)
    assert [row.v for row in Read(spark, source, tmp_path, lambda _, batch: batch.collect()).rows] == [2]


def test_a_parquet_column_that_changes_its_type_is_named(spark: SparkSession, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    spark.sql(f"SELECT TIMESTAMP '{T}' AS ts, 'abc' AS v").write.parquet(data)
    source = FileSource(data, columns="ts TIMESTAMP, v INT")
    errors: list[BaseException] = []

    def look(_: Stream, batch: DataFrame) -> list[Row]:
        try:
            return batch.collect()
        except Exception as error:
            errors.append(error)
            raise

    with pytest.raises(Exception, match="STREAM_FAILED"):
        Read(spark, source, tmp_path, look)
    told = reason(errors[0])
    for word in (f"{data}/part-", "v", "int", "BINARY"):
        assert word in told
