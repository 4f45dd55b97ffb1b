"""What Spark said about a statement is remembered, for as long as it would say the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow
from tests.harness.faults import ANALYSIS, disturbed
from tests.harness.on_disk import add_query
from tests.streams import Files, assert_answers, engine_on, events, same_events
from windrow.runtime.home.catalog import described
from windrow.runtime.home.home import Home
from windrow.runtime.spark.analysis import SparkAnalyst

COLUMNS = {"s": {"v": pa.int32(), "t": pa.timestamp("us", "UTC")}}
ASKED = "SELECT v / 2 AS half, v + 1 AS next, t FROM _windrow_s"


@pytest.fixture
def asked():
    """The statements that Spark was asked about."""
    asked = []

    def noted(number, call, analyst, sql, relations):
        asked.append(sql)
        return call()

    with disturbed(ANALYSIS, noted):
        yield asked


def test_a_restart_asks_spark_nothing(spark, tmp_path, asked):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    engine_on(files, tmp_path / "home").run(seal=False)
    assert asked
    asked.clear()
    files.add(40, 90)
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.run(seal=True)
    assert asked == []
    assert_answers(engine, same_events(0, 90))


def test_the_answer_is_the_same_from_memory(spark, tmp_path, asked):
    home = Home(tmp_path / "home")
    first = SparkAnalyst(spark, home.catalog).describe(ASKED, COLUMNS)
    again = SparkAnalyst(spark, home.catalog).describe(ASKED, COLUMNS)
    assert len(asked) == 1
    assert again == first == SparkAnalyst(spark).describe(ASKED, COLUMNS)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("spark.sql.session.timeZone", "Asia/Tokyo"), ("spark.sql.legacy.timeParserPolicy", "LEGACY")],
)
def test_other_settings_are_another_question(spark, tmp_path, asked, setting, value):
    home = Home(tmp_path / "home")
    SparkAnalyst(spark, home.catalog).describe(ASKED, COLUMNS)
    before = spark.conf.get(setting, None)
    spark.conf.set(setting, value)
    try:
        answer = SparkAnalyst(spark, home.catalog).describe(ASKED, COLUMNS)
        assert answer == SparkAnalyst(spark).describe(ASKED, COLUMNS)
    finally:
        spark.conf.set(setting, before) if before is not None else spark.conf.unset(setting)
    assert len(asked) == 3


def test_what_differs_from_start_to_start_is_the_same_question(spark, tmp_path, asked):
    """Spark's settings have the time of its start among them."""
    home = Home(tmp_path / "home")
    for second in ("1", "2"):
        spark.conf.set("spark.app.started", second)
        SparkAnalyst(spark, home.catalog).describe(ASKED, COLUMNS)
    spark.conf.unset("spark.app.started")
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        (ASKED, {"s": COLUMNS["s"] | {"v": pa.int64()}}),
        (ASKED.replace("/ 2", "/ 3"), COLUMNS),
    ],
)
def test_other_columns_or_words_are_another_question(spark, tmp_path, asked, sql, columns):
    home = Home(tmp_path / "home")
    SparkAnalyst(spark, home.catalog).describe(ASKED, COLUMNS)
    answer = SparkAnalyst(spark, home.catalog).describe(sql, columns)
    assert len(asked) == 2
    assert answer == SparkAnalyst(spark).describe(sql, columns)


def test_a_complaint_is_not_remembered(spark, tmp_path, asked):
    home = Home(tmp_path / "home")
    for _ in range(2):
        with pytest.raises(windrow.StatementError, match="missing"):
            SparkAnalyst(spark, home.catalog).describe("SELECT missing FROM _windrow_s", COLUMNS)
    assert len(asked) == 2


def test_a_function_that_is_gone_is_noticed_all_the_same(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    spark.udf.register("twice", lambda v: 2 * v, "double")
    try:
        sql = "SELECT SUM(twice(v)) AS total FROM events [RANGE 30 SECONDS SLIDE 10 SECONDS]"
        engine_on(files, tmp_path / "home", sql).run(seal=False)
    finally:
        spark.sql("DROP TEMPORARY FUNCTION twice")
    with pytest.raises(windrow.HomeError, match="unknown function 'twice'"):
        windrow.Engine(tmp_path / "home", spark=spark).run(seal=True)


def test_a_function_of_the_users_is_asked_for_every_time(spark, tmp_path):
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("events", events(spark, 0, 40), timestamp="ts")
    try:
        for returns in ("string", "double"):
            spark.udf.register("half", lambda v: v / 2, returns)
            engine.query("q", "SELECT MAX(half(v)) AS most FROM events [RANGE 30 SECONDS SLIDE 10 SECONDS]")
            assert dict(engine.results("q").dtypes)["most"] == returns
            engine.drop("q")
    finally:
        spark.sql("DROP TEMPORARY FUNCTION half")


def test_the_memory_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(described, "KEPT_DESCRIBED", 3)
    memory = Home(tmp_path / "home").catalog
    schema = pa.schema([("v", pa.int32())])
    for number in range(8):
        memory.note_described(str(number), schema)
        add_query(memory, f"q{number}", "SELECT 1", "s", schema)
    assert memory.rows("SELECT question FROM described ORDER BY 1") == [("6",), ("7",)]
    assert memory.described("7") == schema
    assert memory.described("5") is None
