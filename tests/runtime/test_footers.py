"""What footers say of a batch is what Spark counts, and where they might not, Spark is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.harness.faults import TALLY, disturbed
from windrow.logical import Stream
from windrow.planner import Bounds, Tally
from windrow.runtime.spark.analysis import arrow_schema
from windrow.runtime.spark.collect import tally_batch
from windrow.runtime.spark.footers import MOST_FILES, tally_by_footers
from windrow.runtime.spark.sources import FileSource

SECOND = 1_000_000
NOON = 1_704_110_400 * SECOND  # 2024-01-01 12:00:00
UTC_MICROSECONDS = pa.timestamp("us", tz="UTC")
NO_ZONE = pa.timestamp("us")


@dataclass(frozen=True)
class Written:
    """A file, and how it is written: seconds since noon of its rows, None for NULL."""

    seconds: tuple[float | None, ...] = (0, 5, 3)
    type: pa.DataType = UTC_MICROSECONDS
    name: str = "a.parquet"
    column: str = "ts"
    options: dict[str, Any] = field(default_factory=dict)

    def write(self, folder):
        instants = [None if s is None else NOON + round(s * SECOND) for s in self.seconds]
        times = pa.array(instants, pa.int64()).cast(pa.timestamp("us", self.type.tz)).cast(self.type)
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pa.table({"v": list(range(len(instants))), self.column: times})
        pq.write_table(table, path, **self.options)


MILLISECONDS = pa.timestamp("ms", tz="UTC")
KNOWN = {
    "microseconds": [Written()],
    "milliseconds": [Written(type=MILLISECONDS)],
    "without time zone": [Written(type=NO_ZONE)],
    "several files": [Written(), Written(seconds=(9, 1), name="b.parquet")],
    "several row groups": [Written(seconds=(7, 1, 2, 8, 3), options={"row_group_size": 2})],
    "of both units": [Written(), Written(type=MILLISECONDS, name="b.parquet")],
    "a file without rows": [Written(seconds=()), Written(name="b.parquet")],
    "no rows at all": [Written(seconds=())],
    "in directories of other columns": [Written(name="k=1/a.parquet"), Written(name="k=2/a.parquet")],
    "old version": [Written(options={"version": "1.0"})],
}
"""What footers tell."""
UNKNOWN = {
    "NULL": [Written(seconds=(0, None))],
    "only NULL": [Written(seconds=(None, None))],
    "late in one file": [Written(), Written(seconds=(9, -1), name="b.parquet")],
    "too far ahead": [Written(seconds=(0, 101))],
    "no statistics": [Written(options={"write_statistics": False})],
    "no statistics of this column": [Written(options={"write_statistics": ["v"]})],
    "96 bits": [Written(options={"use_deprecated_int96_timestamps": True})],
    "another case": [Written(column="TS")],
    "no such column": [Written(), Written(column="other", name="b.parquet")],
    "value in the name of the directory": [Written(name="ts=2024-01-01 12%3A00%3A09/a.parquet")],
    "before 1900": [Written(seconds=(-5_000_000_000, 0))],
}
"""What only the rows tell, or Spark's own way to read them."""
BOUNDS = Bounds(NOON, NOON + 100 * SECOND)
FROM_THE_BEGINNING = Bounds(None, None)


def counted(spark, folder, written, bounds):
    """The tally by footers, and Spark's."""
    for one in written:
        one.write(folder)
    declared = "TIMESTAMP_NTZ" if written[0].type == NO_ZONE else "TIMESTAMP"
    frame = FileSource(str(folder), columns=f"v BIGINT, ts {declared}").read(spark)
    schema = arrow_schema(frame.schema)
    stream = Stream("s", dict(zip(schema.names, schema.types, strict=True)), "ts")
    files = [f"file://{path}" for path in sorted(folder.rglob("*.parquet"))]
    return tally_by_footers(stream, files, bounds), tally_batch(stream, frame, bounds)


@pytest.mark.parametrize("bounds", [BOUNDS, FROM_THE_BEGINNING], ids=["bounds", "no bounds"])
@pytest.mark.parametrize("name", KNOWN)
def test_footers_say_what_spark_counts(spark, tmp_path, name, bounds):
    by_footers, by_spark = counted(spark, tmp_path, KNOWN[name], bounds)
    assert by_footers == by_spark


@pytest.mark.parametrize("name", UNKNOWN)
def test_where_they_do_not_say_spark_is_asked(spark, tmp_path, name):
    bounds = FROM_THE_BEGINNING if name == "before 1900" else BOUNDS
    by_footers, by_spark = counted(spark, tmp_path, UNKNOWN[name], bounds)
    assert by_footers is None
    assert by_spark.rows == sum(len(one.seconds) for one in UNKNOWN[name])


def test_bounds_are_part_of_what_they_admit(tmp_path, spark):
    for seconds, admitted in (((0, 100), True), ((-0.000001, 100), False), ((0, 100.000001), False)):
        by_footers, _ = counted(spark, tmp_path / repr(seconds), [Written(seconds=seconds)], BOUNDS)
        assert (by_footers is not None) == admitted


def test_files_that_are_gone_damaged_elsewhere_or_too_many(tmp_path):
    stream = Stream("s", {"ts": UTC_MICROSECONDS}, "ts")
    Written().write(tmp_path)
    good = f"file://{tmp_path}/a.parquet"
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and nothing more")
    for other in (
        f"file://{tmp_path}/gone.parquet",
        f"file://{tmp_path}/damaged.parquet",
        "s3a://b/a.parquet",
    ):
        assert tally_by_footers(stream, [good, other], BOUNDS) is None
    assert tally_by_footers(stream, [], BOUNDS) is None
    assert tally_by_footers(stream, [good] * MOST_FILES, BOUNDS) is not None
    assert tally_by_footers(stream, [good] * (MOST_FILES + 1), BOUNDS) is None


@pytest.mark.parametrize(("declared", "written"), [(UTC_MICROSECONDS, NO_ZONE), (NO_ZONE, UTC_MICROSECONDS)])
def test_with_a_time_zone_and_without_are_different_types(tmp_path, declared, written):
    Written(type=written).write(tmp_path)
    stream = Stream("s", {"ts": declared}, "ts")
    assert tally_by_footers(stream, [f"file://{tmp_path}/a.parquet"], BOUNDS) is None


def test_a_stream_with_conditions_on_all_its_queries_needs_no_job_for_counting(spark, tmp_path):
    """Until a row is late: then Spark counts which ones are."""
    source = tmp_path / "in"
    source.mkdir()
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("s", source, timestamp="ts", delay="1 second", schema="v BIGINT, ts TIMESTAMP")
    engine.query("some", "SELECT v FROM s WHERE v > 0")
    engine.query("sums", "SELECT SUM(v) AS total FROM s [RANGE 5 SECONDS SLIDE 5 SECONDS] WHERE v > 1")

    def asked(written):
        written.write(source)
        with disturbed(TALLY, lambda number, call, *_: call()) as calls:
            engine.run(seal=False)
        return calls.count

    assert asked(Written(seconds=(0, 8, 4))) == 0
    progress = engine.progress("s")
    assert (progress.rows, progress.late, progress.watermark) == (3, 0, NOON + 7 * SECOND)
    assert asked(Written(seconds=(9, 1), name="b.parquet")) == 1
    progress = engine.progress("s")
    assert (progress.rows, progress.late, progress.watermark) == (5, 1, NOON + 8 * SECOND)
    assert sorted(row.v for row in engine.results("some").collect()) == [1, 2]
    assert [row.total for row in engine.results("sums").collect()] == [2]


def test_files_that_may_be_ignored_are_counted_by_spark(spark, tmp_path):
    source = tmp_path / "in"
    Written().write(source)
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("s", source, timestamp="ts", options={"ignoreCorruptFiles": "true"})
    engine.query("some", "SELECT v FROM s WHERE v > 0")
    with disturbed(TALLY, lambda number, call, *_: call()) as calls:
        engine.run(seal=False)
    assert calls.count == 1
    assert engine.progress("s").rows == 3


def test_a_tally_of_nothing_has_no_latest_instant(tmp_path):
    Written(seconds=()).write(tmp_path)
    stream = Stream("s", {"ts": UTC_MICROSECONDS}, "ts")
    assert tally_by_footers(stream, [f"file://{tmp_path}/a.parquet"], BOUNDS) == Tally(None, 0, 0, 0)
