"""A script that is run again registers its queries again: what the home has of them is used, and still holds."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.harness.faults import BINDING, disturbed
from tests.harness.on_disk import forget_what_queries_are_bound_to
from tests.harness.plans import plans_of
from tests.streams import SQL, Files, assert_answers, engine_on, same_events

SCRIPT = """
CREATE STREAM events FROM PARQUET '{path}' TIMESTAMP ts;
CREATE QUERY totals AS SELECT k, SUM(v) AS total FROM events [RANGE 30 SECONDS SLIDE 7 SECONDS] GROUP BY k;
CREATE QUERY positive RETAIN 1 DAY AS SELECT k, v FROM events WHERE v > 0;
SELECT COUNT(*) AS n FROM events [ROWS 100 SLIDE 10]
"""


class Widening(Files):
    """A directory that receives Parquet files of other columns than those before."""

    def add_with(self, first, last, **columns):
        """Add a file that has more columns. Spark asks the first file, by name, which columns there are."""
        rows = same_events(first, last)
        for name, value in columns.items():
            rows = rows.append_column(name, pa.array([value] * len(rows)))
        staged = self.path.parent / "staging-wide"
        pq.write_table(rows, staged)
        self.receive(staged)
        (self.path / f"{self.count:03d}.parquet").rename(self.path / "000.parquet")

    def begin_anew(self, first, last):
        """Have a file in place of all others, in which `k` is text."""
        for file in self.path.iterdir():
            file.unlink()
        rows = same_events(first, last)
        staged = self.path.parent / "staging-texts"
        pq.write_table(rows.set_column(1, "k", rows["k"].cast(pa.string())), staged)
        self.receive(staged)


@pytest.fixture
def files(spark, tmp_path):
    files = Widening(spark, tmp_path / "in")
    files.add(0, 40)
    return files


def nothing_is_bound():
    return disturbed(BINDING, lambda *_: pytest.fail("a statement is bound again"))


def rows_of(engine, name="q"):
    """The answers of a query, with the names of their columns."""
    answers = engine.results(name)
    return answers.columns, sorted(answers.collect())


# what is the same


def test_the_same_statements_again_are_not_bound(spark, files, tmp_path):
    text = SCRIPT.format(path=files.path)
    first = windrow.Engine(tmp_path / "home", spark=spark)
    first.execute(text)
    before = plans_of(first)
    first.run(seal=False)
    with nothing_is_bound() as bound:
        again = windrow.Engine(tmp_path / "home", spark=spark)
        again.execute(text)
        assert plans_of(again) == before
        again.run(seal=False)
    assert bound.count == 0


def test_the_same_queries_again_are_not_bound_and_go_on(files, tmp_path):
    engine_on(files, tmp_path / "home").run(seal=False)
    files.add(40, 90)
    with nothing_is_bound():
        engine = engine_on(files, tmp_path / "home")
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 90))


def test_only_what_has_been_added_is_bound(spark, files, tmp_path):
    text = SCRIPT.format(path=files.path)
    windrow.Engine(tmp_path / "home", spark=spark).execute(text)
    more = f"{text}; CREATE QUERY more AS SELECT k FROM events"
    with disturbed(BINDING, lambda number, call, *_: call()) as bound:
        windrow.Engine(tmp_path / "home", spark=spark).execute(more)
    assert bound.count == 1


def test_another_retain_takes_effect_without_binding(files, tmp_path):
    engine_on(files, tmp_path / "home")
    with nothing_is_bound():
        engine = windrow.Engine(tmp_path / "home", spark=files.spark)
        engine.query("q", SQL, retain="1 day")
    assert plans_of(engine).keys() == {"q"}
    (query,) = engine.status().queries
    assert query.retain == timedelta(days=1)


# what is not


def test_another_text_under_the_name_is_refused(files, tmp_path):
    engine_on(files, tmp_path / "home")
    with pytest.raises(windrow.HomeError, match="there is a query 'q' already"):
        engine_on(files, tmp_path / "home", SQL.replace("MAX(v)", "MIN(v)"))


def test_a_query_that_was_dropped_is_bound_as_a_new_one(files, tmp_path):
    engine_on(files, tmp_path / "home").drop("q")
    with disturbed(BINDING, lambda number, call, *_: call()) as bound:
        engine_on(files, tmp_path / "home")
    assert bound.count == 1


@pytest.mark.parametrize("sql", ["SELECT k, v FROM events", "SELECT * FROM events"])
def test_a_stream_that_is_declared_anew_is_noticed(files, tmp_path, sql):
    """Nothing of it is committed, so that its columns may have other types now."""
    engine_on(files, tmp_path / "home", sql)
    files.begin_anew(0, 40)
    engine = engine_on(files, tmp_path / "home", sql)
    engine.run(seal=False)
    assert dict(engine.results("q").dtypes)["k"] == "string"
    assert engine.results("q").count() == 400


def test_a_stream_that_is_declared_anew_is_noticed_by_whoever_takes_its_star_up(files, tmp_path):
    engine_on(files, tmp_path / "home", "SELECT * FROM events")
    files.begin_anew(0, 40)
    engine = windrow.Engine(tmp_path / "home", spark=files.spark)
    engine.stream("events", files.path, timestamp="ts", options={"maxFilesPerTrigger": "1"})
    engine.run(seal=False)
    assert dict(engine.results("q").dtypes)["k"] == "string"


def test_a_table_that_is_away_is_noticed(spark, files, tmp_path):
    joined = "SELECT n.name, e.v FROM events e JOIN names n ON n.k = e.k"
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("events", files.path, timestamp="ts")
    engine.table("names", spark.createDataFrame([(1, "one")], "k BIGINT, name STRING"))
    engine.query("q", joined)
    again = windrow.Engine(tmp_path / "home", spark=spark)
    with pytest.raises(windrow.StatementError, match="unknown stream or table 'names'"):
        again.query("q", joined)
    again.table("names", spark.createDataFrame([(1, "one")], "k BIGINT, name STRING"))
    with nothing_is_bound():
        again.query("q", joined)


# stars


@pytest.mark.parametrize("kept", [True, False], ids=["its plan is kept", "it is bound again"])
def test_a_star_keeps_the_columns_that_it_had(files, tmp_path, kept):
    """As its result files have them, when its source has gained one."""
    engine_on(files, tmp_path / "home", "SELECT * FROM events WHERE k = 1").run(seal=False)
    files.add_with(40, 60, more=7)
    if not kept:
        forget_what_queries_are_bound_to(tmp_path / "home")
    engine = engine_on(files, tmp_path / "home", "SELECT * FROM events WHERE k = 1")
    engine.run(seal=False)
    columns, rows = rows_of(engine)
    assert columns == ["_ts", "ts", "k", "v", "x"]
    assert [(row.k, row.v) for row in rows] == [
        (row["k"], row["v"]) for row in same_events(0, 60).to_pylist() if row["k"] == 1
    ]
    engine.query("wide", "SELECT * FROM events")
    assert plans_of(engine)["wide"].outputs[-1].name == "more"


@pytest.mark.parametrize("again", [True, False], ids=["registered again", "taken up"])
def test_a_star_beside_an_alias_that_is_a_column_now(files, tmp_path, again):
    """The new column is no part of the star, so that two columns of the results are not called the same."""
    sql = "SELECT *, v * 2 AS twice FROM events"
    engine_on(files, tmp_path / "home", sql).run(seal=False)
    files.add_with(40, 60, twice=7.0)
    if again:
        engine = engine_on(files, tmp_path / "home", sql)
    else:
        engine = windrow.Engine(tmp_path / "home", spark=files.spark)
    engine.run(seal=False)
    columns, rows = rows_of(engine)
    assert columns == ["_ts", "ts", "k", "v", "x", "twice"]
    assert [row.twice for row in rows] == [2 * row.v for row in rows]
    assert len(rows) == 600


def test_the_star_of_a_table_keeps_its_columns_too(spark, files, tmp_path):
    joined = "SELECT n.*, e.v FROM events e JOIN names n ON n.k = e.k"
    for schema, row in (
        ("k BIGINT, name STRING", (1, "one")),
        ("more INT, name STRING, k BIGINT", (7, "one", 1)),
    ):
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.stream("events", files.path, timestamp="ts")
        engine.table("names", spark.createDataFrame([row], schema))
        engine.query("q", joined)
        engine.run(seal=False)
        files.add(40, 50)
    columns, rows = rows_of(engine)
    assert columns == ["_ts", "k", "name", "v"]
    assert {(row.k, row.name) for row in rows} == {(1, "one")}
    assert len(rows) == 100
