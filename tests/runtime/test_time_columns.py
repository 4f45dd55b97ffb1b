"""Results go by the time column that their schema declares, whatever the names of their columns suggest."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.harness.on_disk import add_query, committed_files, committed_query
from tests.streams import Files, engine_on
from windrow.runtime.epochs.report import EpochReport
from windrow.runtime.home import compaction, home
from windrow.runtime.home.compaction import Compactor
from windrow.runtime.home.home import Home
from windrow.runtime.home.records import Advance, Epoch, Progress, schema_id
from windrow.runtime.home.results import DECLARATION, ResultWriter, declaring, latest_answers, time_column
from windrow.runtime.state.answering import Answering

SECOND = 1_000_000
INSTANT = pa.timestamp("us", "UTC")
COLUMNS = pa.schema([("_ts", INSTANT), ("window_end", INSTANT), ("n", pa.int64())])
EPOCHS = 12
DECLARED = pytest.mark.parametrize("time", ["_ts", "window_end"])


def epoch(home, query, number):
    """An answer of second `number` by the declared column; the other column runs backwards."""
    results = ResultWriter(home.path, number)
    answering = Answering(results, watched=True)
    forth, back = (pa.array([second * SECOND]).cast(INSTANT) for second in (number, 100 - number))
    times = [forth, back] if time_column(query.schema) == "_ts" else [back, forth]
    rows = pa.table([*times, [number]], schema=query.schema)
    answering.take(query.schema_id, rows.append_column("_query", pa.array([query.id], pa.int32())))
    done = Epoch(number, float(number), files=results.close())
    done.streams["s"] = Advance(Progress(batch=number), number, rows=1)
    done.queries = [replace(query, latest_end=answering.by_query[query.id].latest_end)]
    home.commit(done)
    return answering.by_query[query.id].last


@pytest.fixture
def small(monkeypatch):
    """Few files are many, so that tests need not write thousands."""
    monkeypatch.setattr(compaction, "FAN", 3)
    monkeypatch.setattr(home, "GRACE_SECONDS", 0)
    monkeypatch.setattr(home, "LEAST_GRACE_SECONDS", 0)


@DECLARED
@pytest.mark.parametrize("in_memory", [compaction.SORTED_BYTES, 0])
def test_all_go_by_the_column_that_is_declared(spark, tmp_path, small, monkeypatch, time, in_memory):
    monkeypatch.setattr(compaction, "SORTED_BYTES", in_memory)
    home = Home(tmp_path / "home")
    with home.running():
        query = add_query(home.catalog, "q", "SELECT …", "s", declaring(COLUMNS, time), retain=5 * SECOND)
        for number in range(EPOCHS):
            last = epoch(home, query, number)
            report = EpochReport(number, "s", number, 1, 0, 0, None, 0.0, latest={"q": last})
            assert report.latest_time("q").timestamp() == number
        files = home.catalog.files("results")
        assert [(file.earliest, file.latest) for file in files] == [
            (n * SECOND, n * SECOND) for n in range(EPOCHS)
        ]
        assert home.catalog.query("q").latest_end == (EPOCHS - 1) * SECOND
        Compactor(home, lambda: 1.0).compact()
        files = home.catalog.files("results")
        assert any(file.level for file in files)
        left = [n for file in files for n in pq.read_table(home.path / file.path)["n"].to_pylist()]
        assert left == sorted(left)
        assert set(range(7, EPOCHS)) <= set(left) < set(range(EPOCHS))
        assert latest_answers(home, "q")["n"].to_pylist()[-1] == EPOCHS - 1
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    assert sorted(row.n for row in engine.results("q").collect()) == [7, 8, 9, 10, 11]
    assert sorted(row.n for row in engine.results("q", last="2 seconds").collect()) == [10, 11]
    assert str(engine.watch("q")).startswith("q: latest " if time == "_ts" else "q: 1 answer\n")


def test_what_an_engine_writes_declares_it(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    engine = engine_on(
        files, tmp_path / "home", "SELECT k FROM events [RANGE 9 SECONDS SLIDE 9 SECONDS] GROUP BY k"
    )
    engine.query("computed", "SELECT SUM(v) + 1 AS more FROM events [RANGE 5 SECONDS SLIDE 5 SECONDS]")
    engine.query("rows", "SELECT COUNT(*) AS n FROM events [ROWS 20 SLIDE 20]")
    engine.query("selected", "SELECT k, v AS window_end FROM events")
    engine.run(seal=True)
    for name, time in {
        "q": b"window_end",
        "computed": b"window_end",
        "rows": b"window_end",
        "selected": b"_ts",
    }.items():
        query = committed_query(tmp_path / "home", name)
        assert query.schema.metadata[DECLARATION] == time
        written = committed_files(tmp_path / "home", "results", owner=query.schema_id)
        assert written
        for file in written:
            assert pq.read_schema(tmp_path / "home" / file.path).metadata == {DECLARATION: time}


def test_answers_with_the_same_columns_and_another_time_column_are_kept_apart():
    assert schema_id(declaring(COLUMNS, "_ts")) != schema_id(declaring(COLUMNS, "window_end"))


@pytest.mark.parametrize(("names", "time"), [(["_ts", "n"], "_ts"), (["window_end", "n"], "window_end")])
def test_a_query_of_a_home_without_declarations_goes_on_in_its_files(tmp_path, names, time):
    plain = pa.schema([COLUMNS.field(name) for name in names])
    assert time_column(plain) == time
    home = Home(tmp_path / "home")
    before = add_query(home.catalog, "q", "SELECT …", "s", plain)
    again = add_query(home.catalog, "q", "SELECT …", "s", declaring(plain, time), retain=SECOND)
    assert again.schema_id == before.schema_id == home.catalog.query("q").schema_id
    home.close()
