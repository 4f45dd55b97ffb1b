"""CSV files with headers: columns are found by name, file by file."""

from __future__ import annotations

import logging
import os

import pytest

import windrow
from tests.harness.on_disk import forget_in_definition
from tests.streams import Lines, answers, text_engine
from windrow.runtime.spark import patience
from windrow.runtime.spark.headers import HeaderLines

HEADER = {"header": "true"}
EACH = "SELECT k, SUM(v) AS total, COUNT(*) AS n FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY k"
COLUMNS = "ts TIMESTAMP, v INT, k STRING"


@pytest.fixture
def lines(tmp_path):
    return Lines(tmp_path / "in")


@pytest.fixture
def compacting(spark):
    """Spark's log of files in one piece after every second batch, not after ten."""
    setting = "spark.sql.streaming.fileSource.log.compactInterval"
    spark.conf.set(setting, "2")
    yield
    spark.conf.unset(setting)


def named_engine(spark, lines, home, options=None, sql=EACH, **others):
    """An engine on files with headers; a batch is as many files as there are."""
    schema = others.pop("schema", COLUMNS)
    engine = windrow.Engine(home, spark=spark)
    engine.stream(
        "s",
        lines.path,
        timestamp="ts",
        format="csv",
        schema=schema,
        options=HEADER | (options or {}),
        **others,
    )
    engine.query("q", sql)
    return engine


def found(engine):
    return sorted((row.k, row.total, row.n) for row in engine.results("q").collect())


def dead(engine):
    return {row._raw: row._reason for row in engine.dead("s").collect()}


def test_columns_are_found_by_name_in_each_file(spark, lines, tmp_path, caplog):
    """One batch of files whose headers differ; lines that cannot be read are counted against their own header."""
    lines.add("ts,v,k\n2020-01-01 00:00:01,1,a\n2020-01-01 00:00:01,one,a\n2020-01-01 00:00:01,1\n")
    lines.add("K,V,TS\na,2,2020-01-01 00:00:02\na,two,2020-01-01 00:00:02\na,2\n")
    lines.add('more,k,"v",ts,most\nx,b,4,2020-01-01 00:00:03,y\nx,b,four,2020-01-01 00:00:03,y\n'
              "more,k,v,ts,most\nx,b,4,2020-01-01 00:00:03\n,b,4,yesterday,\n")  # fmt: skip
    lines.add("")  # nothing in it, and no rows
    lines.add("k,ts\nc,2020-01-01 00:00:04\n,\nx\n")
    engine = named_engine(spark, lines, tmp_path / "home", max_dead=100)
    engine.query("half", "SELECT MEDIAN(v) AS half FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]")  # a second pass
    with caplog.at_level(logging.WARNING, "windrow"):
        engine.run(seal=True)
    assert found(engine) == [("a", 3, 2), ("b", 4, 1)]
    assert [row.half for row in engine.results("half").collect()] == [2]
    missing = "the header has no v: it is k, ts"
    assert dead(engine) == {
        "2020-01-01 00:00:01,one,a": "v is 'one', not INT",
        "2020-01-01 00:00:01,1": "2 values where the header has 3",
        "a,two,2020-01-01 00:00:02": "v is 'two', not INT",
        "a,2": "2 values where the header has 3",
        "x,b,four,2020-01-01 00:00:03,y": "v is 'four', not INT",
        "more,k,v,ts,most": "the header of the file again, not values",
        "x,b,4,2020-01-01 00:00:03": "4 values where the header has 5",
        ",b,4,yesterday,": "ts is 'yesterday', not TIMESTAMP",
        "c,2020-01-01 00:00:04": missing,
        ",": missing,
        "x": missing,
    }
    files = {row._raw: row._file for row in engine.dead("s").collect()}
    assert files["a,2"].endswith("/in/002.txt")
    assert files["x"].endswith("/in/005.txt")
    assert engine.progress("s").rows == 14
    said = [record.getMessage() for record in caplog.records if "not declared" in record.getMessage()]
    assert said == ["'s' has columns that are not declared, and they are ignored: more, most"]


def test_what_is_ignored_is_said_once_and_goes_on_after_a_restart(spark, lines, tmp_path, caplog, compacting):
    one = {"maxFilesPerTrigger": "1"}
    lines.add("k,v,ts,more\na,1,2020-01-01 00:00:01,x\n")
    lines.add("k,v,ts,more\na,2,2020-01-01 00:00:02,x\n")
    with caplog.at_level(logging.WARNING, "windrow"):
        named_engine(spark, lines, tmp_path / "home", one).run(seal=False)
    assert sum("they are ignored: more" in record.getMessage() for record in caplog.records) == 1
    lines.add("more,ts,v,k\nx,2020-01-01 00:00:03,4,a\n")
    engine = windrow.Engine(tmp_path / "home", spark=spark)  # it is told of nothing: the home knows
    engine.run(seal=True)
    assert found(engine) == [("a", 7, 3)]
    assert list((tmp_path / "home").glob("streams/s/sources/0/*.compact"))


def test_a_column_that_the_first_file_lacks_is_an_error_when_it_is_declared(spark, lines, tmp_path):
    second = lines.add("ts,v,k\n2020-01-01 00:00:02,2,a\n")
    first = lines.add("ts,k\n2020-01-01 00:00:01,a\n")
    os.utime(first, (1_500_000_000,) * 2)
    told = rf"(?s){first.name}' are not as declared: the header has no v\n  declared: ts, v, k\n  header:   ts, k\n"
    with pytest.raises(windrow.SourceError, match=told):
        named_engine(spark, lines, tmp_path / "home")
    with pytest.raises(windrow.StatementError, match=told):
        windrow.Engine(spark=spark).execute(
            f"CREATE STREAM s ({COLUMNS}) FROM CSV '{lines.path}' OPTIONS (Header 'TRUE') TIMESTAMP ts"
        )
    os.utime(first, (1_700_000_000,) * 2)  # now it is a later file, and its rows are dead letters
    engine = named_engine(spark, lines, tmp_path / "home")
    engine.run(seal=True)
    assert found(engine) == [("a", 2, 1)]
    assert dead(engine) == {"2020-01-01 00:00:01,a": "the header has no v: it is ts, k"}
    assert second.exists()


def test_a_header_that_is_one_column_makes_one_think_of_the_separator(spark, lines, tmp_path):
    lines.add("ts;v;k\n2020-01-01 00:00:01;1;a\n")
    with pytest.raises(windrow.SourceError, match=r"one column, 'ts;v;k': is the separator \(sep\) right\?"):
        named_engine(spark, lines, tmp_path / "home")


def test_a_column_that_the_first_batch_lacks_stops_the_run_and_nothing_is_committed(spark, lines, tmp_path):
    engine = named_engine(spark, lines, tmp_path / "home", {"maxFilesPerTrigger": "1"})
    path = lines.add("ts,v,V,k\n2020-01-01 00:00:01,1,1,a\n".replace("ts,v,V", "ts,V,V"))
    told = r"(?s)the header has v twice\n  declared: ts, v, k\n  header:   ts, V, V, k"
    with pytest.raises(windrow.SourceError, match=told):
        engine.run(seal=False)
    assert engine.progress("s").batch == -1
    path.write_text("ts,v,V,k\n2020-01-01 00:00:01,1,9,a\n")  # written as declared: that is clear
    engine = named_engine(spark, lines, tmp_path / "home", {"maxFilesPerTrigger": "1"})
    engine.run(seal=True)
    assert found(engine) == [("a", 1, 1)]


def test_enforce_schema_goes_by_places(spark, lines, tmp_path):
    lines.add("k,v,ts\n2020-01-01 00:00:01,1,a\n")
    engine = named_engine(spark, lines, tmp_path / "home", {"enforceSchema": "True"})
    engine.run(seal=True)
    assert found(engine) == [("a", 1, 1)]


def test_a_home_that_went_by_places_goes_on_so(spark, lines, tmp_path, caplog):
    """As one of an earlier format, whose definitions do not say how columns are found."""
    lines.add("ts,v,k\n2020-01-01 00:00:00,4,a\n")
    engine = named_engine(spark, lines, tmp_path / "home")
    engine.run(seal=False)
    forget_in_definition(tmp_path / "home", "s", "by_name")
    lines.add("k,v,ts\n2020-01-01 00:00:01,1,a\n")
    lines.add("k,v,ts\n2020-01-01 00:00:02,2,a\n")
    engine = named_engine(spark, lines, tmp_path / "home", {"maxFilesPerTrigger": "1"})
    with caplog.at_level(logging.WARNING, "windrow"):
        engine.run(seal=True)
    assert found(engine) == [("a", 7, 3)]
    (said,) = [record.getMessage() for record in caplog.records if "by their places" in record.getMessage()]
    assert "declared ts, v, k; header k, v, ts. To find them by name, use another home" in said


def test_a_stream_of_which_nothing_is_committed_may_come_to_have_headers(spark, lines, tmp_path):
    lines.add("k,v,ts\na,1,2020-01-01 00:00:01\nb,2,2020-01-01 00:00:02\n")
    engine = named_engine(spark, lines, tmp_path / "home", {"header": "false"})
    with pytest.raises(windrow.SourceError, match="dead letters of stream 's': 3 of its first 3 rows"):
        engine.run(seal=False)
    engine = named_engine(spark, lines, tmp_path / "home")
    engine.run(seal=True)
    assert found(engine) == [("a", 1, 1), ("b", 2, 1)]


def test_columns_declared_later_may_stand_anywhere(spark, lines, tmp_path):
    one = {"maxFilesPerTrigger": "1"}
    lines.add("k,v,ts\na,1,2020-01-01 00:00:01\n")
    named_engine(spark, lines, tmp_path / "home", one).run(seal=False)
    lines.add("more,k,v,ts\n7,a,2,2020-01-01 00:01:02\n")
    lines.add("k,v,ts\na,4,2020-01-01 00:01:03\n")
    engine = named_engine(spark, lines, tmp_path / "home", one, schema=f"more INT, {COLUMNS}")
    engine.query("sum", "SELECT SUM(more) AS more FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]")
    engine.run(seal=True)
    assert found(engine) == [("a", 1, 1), ("a", 2, 1)]
    assert [row.more for row in engine.results("sum").collect()] == [7]
    assert dead(engine) == {"a,4,2020-01-01 00:01:03": "the header has no more: it is k, v, ts"}


@pytest.mark.parametrize("mode", ["PERMISSIVE", "dropMalformed"])
def test_the_users_own_way_with_unreadable_lines(spark, lines, tmp_path, mode):
    lines.add("k,ts,v\na,2020-01-01 00:00:01,1\nb,2020-01-01 00:00:01,x\n")
    lines.add("k,ts\nc,2020-01-01 00:00:02\n")
    engine = named_engine(spark, lines, tmp_path / "home", {"mode": mode})
    engine.run(seal=True)
    kept = [("b", None, 1), ("c", None, 1)] if mode == "PERMISSIVE" else []
    assert found(engine) == [("a", 1, 1), *kept]
    assert dead(engine) == {}


def test_failfast_stops_at_a_header_that_lacks_a_column(spark, lines, tmp_path):
    lines.add("k,ts,v\na,2020-01-01 00:00:01,1\n")
    lines.add("k,ts\nc,2020-01-01 00:00:02\n")
    engine = named_engine(spark, lines, tmp_path / "home", {"mode": "FAILFAST"})
    with pytest.raises(windrow.SourceError, match=r"002\.txt' are not as declared: the header has no v"):
        engine.run(seal=True)


def test_a_column_for_unreadable_lines_and_columns_of_directories_are_in_no_header(spark, lines, tmp_path):
    for name, text in {
        "x": "v,ts\n1,2020-01-01 00:00:01\n",
        "y [1]": "ts,v\n2020-01-01 00:00:02,two\n",
    }.items():
        folder = lines.path / f"k={name[0]}"
        folder.mkdir()
        (folder / f"{name}.csv").write_text(text)
    engine = named_engine(
        spark, lines, tmp_path / "home", {"columnNameOfCorruptRecord": "bad"},
        schema="ts TIMESTAMP, v INT, k STRING, bad STRING",
        sql="SELECT k, SUM(v) AS total, COUNT(bad) AS n FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY k",
    )  # fmt: skip
    engine.run(seal=True)
    assert found(engine) == [("x", 1, 0), ("y", None, 1)]


def test_a_header_that_cannot_be_read_for_a_moment_is_no_guess(spark, lines, tmp_path, monkeypatch):
    """Its columns are not taken for those declared: it is looked at again."""
    monkeypatch.setattr(patience, "PAUSES", (0.0,))
    lines.add("k,v,ts\na,1,2020-01-01 00:00:01\n")
    engine = named_engine(spark, lines, tmp_path / "home")
    read, failures = HeaderLines.header, [OSError(24, "Too many open files")]

    def header(self, file):
        if failures:
            raise failures.pop()
        return read(self, file)

    monkeypatch.setattr(HeaderLines, "header", header)
    engine.run(seal=False)
    assert not failures
    failures += [OSError(24, "Too many open files")] * 2
    lines.add("k,v,ts\nb,2,2020-01-01 00:00:02\n")
    with pytest.raises(windrow.MachineFailed, match=r"oo many open files .*No query is to blame"):
        engine.run(seal=False)
    engine.run(seal=True)
    assert found(engine) == [("a", 1, 1), ("b", 2, 1)]


@pytest.mark.parametrize("name", ["gone.csv", "gone[1].csv"])
def test_a_file_that_is_gone_is_left_out_as_spark_leaves_it_out(spark, lines, tmp_path, name):
    lines.add("k,v,ts\na,1,2020-01-01 00:00:01\n")
    (lines.path / name).write_text("ts,v,k\nnever,1,a\nnever,2,a\nnever,4,a\n")
    engine = named_engine(spark, lines, tmp_path / "home")
    with pytest.raises(windrow.SourceError, match="3 of its first 4 rows"):
        engine.run(seal=False)
    (lines.path / name).unlink()
    engine.run(seal=True)
    assert found(engine) == [("a", 1, 1)]


def test_one_file_by_any_path_is_read_by_its_header(spark, lines, tmp_path):
    lines.add("ts,v,k\n2020-01-01 00:00:01,1,a\n")
    (tmp_path / "names.csv").write_text("name,k\nAnna,a\n")
    engine = windrow.Engine(spark=spark)
    engine.stream("s", lines.path, timestamp="ts", format="csv", schema=COLUMNS, options=HEADER)
    path = f"{tmp_path}/in/../names.csv"
    engine.table("names", path, format="csv", schema="k STRING, name STRING", options=HEADER)
    engine.query(
        "q",
        "SELECT name, SUM(v) AS total FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] JOIN names ON s.k = names.k GROUP BY name",
    )
    engine.run()
    assert [(row.name, row.total) for row in engine.results("q").collect()] == [("Anna", 1)]


def test_a_table_is_read_by_name_too(spark, lines, tmp_path):
    lines.add("ts,v,k\n2020-01-01 00:00:01,1,a\n2020-01-01 00:00:01,2,b\n")
    names = Lines(tmp_path / "names")
    names.add("name,other,k\nAnna,1,a\n")
    names.add("k,name\nb,Bert\n")
    engine = windrow.Engine(spark=spark)
    engine.stream("s", lines.path, timestamp="ts", format="csv", schema=COLUMNS, options=HEADER)
    engine.table("declared", names.path, format="csv", schema="k STRING, name STRING", options=HEADER)
    third = names.add("k,wrong\nb,Bert\n")
    engine.table("refused", third, format="csv", schema="k STRING, wrong STRING", options=HEADER)
    with pytest.raises(
        windrow.SourceError, match=r"(?s)header has no name\n  declared: k, name\n  header:   k, wrong"
    ):
        engine.table("lacking", third, format="csv", schema="k STRING, name STRING", options=HEADER)
    third.unlink()
    (names.path / "001.txt").write_text("name,k\nAnna,a\n")
    engine.table("inferred", names.path, format="csv", options=HEADER)
    for table in ("declared", "inferred"):
        engine.query(
            table,
            f"SELECT t.name, SUM(v) AS total FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE] JOIN {table} t ON s.k = t.k "
            "GROUP BY t.name",
        )
    engine.run(seal=True)
    for table in ("declared", "inferred"):
        assert sorted((row.name, row.total) for row in engine.results(table).collect()) == [
            ("Anna", 1),
            ("Bert", 2),
        ]


def test_without_a_header_columns_go_by_their_places(spark, lines, tmp_path):
    lines.add("v,unused,ts\n2020-01-01 00:00:01,1,0.5\n")
    engine = text_engine(spark, lines, tmp_path / "home")
    engine.run(seal=True)
    assert answers(engine) == [(1, 1, 1)]
    assert list(dead(engine)) == ["v,unused,ts"]
