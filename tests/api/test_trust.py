"""What an engine trusts: whoever may write its home changes answers, and runs nothing."""

from __future__ import annotations

import io
import os
import pickle
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.harness.on_disk import define, rewrite_slices
from tests.streams import Files, Lines
from windrow.runtime.home.folder_names import folder_name
from windrow.runtime.home.home import Home
from windrow.runtime.home.records import DataFile


class Tags(windrow.OwnAggregate):
    state = object
    result = "INT"

    def lift(self, tag):
        return frozenset([tag])

    def combine(self, a, b):
        return a | b

    def lower(self, s):
        return len(s)


class Runs:
    """Pickled, it is a program that makes a directory."""

    def __init__(self, directory):
        self.directory = str(directory)

    def __reduce__(self):
        return os.mkdir, (self.directory,)


def crafted(table, program):
    """A state at rest with the program in the place of users' states, for arrays of them as in format 4."""
    if table is None:
        return None
    array = io.BytesIO()
    np.save(array, np.array([program], object))
    names = table["_name"].to_pylist() if "_name" in table.column_names else [None] * len(table)
    for place, field in enumerate(table.schema):
        values = table[field.name].to_pylist()
        if field.name == "_array":
            values = [
                array.getvalue() if name is not None and name.startswith("tags ") else value
                for name, value in zip(names, values, strict=True)
            ]
        elif field.name == "_objects":
            values = [None] * len(table)
        elif field.type == pa.large_binary():
            values = [None if value is None else bytes(8) + pickle.dumps(program) for value in values]
        table = table.set_column(place, field, pa.array(values, field.type))
    return table


def put_into_home(home, program):
    """Somebody rewrites the slice log, sizes and checksums and all."""
    rewrite_slices(home, lambda table: crafted(table, program))


@dataclass(frozen=True)
class Point:
    """A type that no class of this file lists for its states."""

    x: float


class Points(Tags):
    def lift(self, x):
        return frozenset([Point(x)])


def conditions(engine):
    return {query.name: query.quarantined for query in engine.status().queries}


def list_file(home, path):
    with home.catalog.transaction() as database:
        home.catalog.list_files(database, [DataFile(path, "results", "schema", 0, 0, 1)])
    return lambda: home.catalog.files("results")


def doom_file(home, path):
    with home.catalog.transaction() as database:
        home.catalog.forget_files(database, [path], 0.0)
    return lambda: home.remove_doomed(1e9)


@pytest.mark.parametrize("path", ["../mine", "results/../../mine", "{}/mine", "catalog.db", "results", ""])
@pytest.mark.parametrize("put", [list_file, doom_file])
def test_a_path_in_the_catalog_leads_nowhere_else(tmp_path, put, path):
    """Whoever can write the catalog can have the engine remove files of the home, and no others."""
    (tmp_path / "mine").touch()
    home = Home(tmp_path / "home")
    use = put(home, path.format(tmp_path))
    with home.running(), pytest.raises(windrow.HomeError, match=r"lists '.*', which is no file of a home"):
        use()
    home.close()
    assert (tmp_path / "mine").exists()


def test_a_link_in_the_home_leads_nowhere_else(tmp_path):
    """A start removes what the catalog does not list, and what it finds behind a link is not the home's."""
    mine = tmp_path / "mine" / "file"
    mine.parent.mkdir()
    mine.touch()
    home = Home(tmp_path / "home")
    results = tmp_path / "home" / "results"
    results.symlink_to(mine.parent)
    with pytest.raises(windrow.HomeError, match=r"results is a link to .*mine, which"), home.running():
        pass
    results.unlink()
    results.mkdir()
    listed = results / "listed"
    listed.symlink_to(mine)
    doom_file(home, "results/listed")
    with pytest.raises(windrow.HomeError, match=r"listed is a link to .*mine/file, which"), home.running():
        pass
    listed.unlink()
    (results / "schema").symlink_to(mine.parent)
    doom_file(home, "results/schema/file")
    with home.running():
        home.remove_doomed(1e9)
    assert not (results / "schema").exists()
    assert mine.exists()


def test_a_program_in_the_home_does_not_run(spark, tmp_path):
    """Neither in the place of a state nor in that of an array of states; only their queries suffer."""
    files = Files(spark, tmp_path / "in")
    for number in range(2):
        files.add(20 * number, 20 * number + 20)
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.stream("events", files.path, timestamp="ts")
        engine.aggregate("tags", Tags)
        engine.aggregate("points", Points)
        engine.query("all", "SELECT COUNT(*) AS n FROM events [RANGE 20 S SLIDE 20 S]")
        engine.query("range", "SELECT k, tags(v) AS n FROM events [RANGE 10 S SLIDE 5 S] GROUP BY k")
        engine.query("rows", "SELECT k, tags(v) AS n FROM events [PARTITION BY k ROWS 20 SLIDE 5] GROUP BY k")
        if number == 0:
            engine.query("unlisted", "SELECT points(v) AS n FROM events [RANGE 10 S SLIDE 5 S]")
        match = "a state mentions " + (rf"{__name__}\.Point, " if number == 0 else r"posix\.mkdir, ")
        with pytest.raises(windrow.QueryFailed, match=match):
            engine.run(seal=False)
        if number == 0:
            assert [name for name, error in conditions(engine).items() if error is not None] == ["unlisted"]
            engine.drop("unlisted")
            engine.close()
            put_into_home(tmp_path / "home", Runs(tmp_path / "ran"))
    with engine:
        assert not (tmp_path / "ran").exists()
        told = conditions(engine)
        assert told.pop("all") is None
        assert all(
            "a state mentions posix.mkdir, which is neither plain nor listed" in why for why in told.values()
        )
        assert [row.n for row in engine.results("all").collect()] == [200]


def test_a_home_names_no_class_for_spark_to_load(spark, tmp_path):
    with windrow.Engine(tmp_path / "home", spark=spark) as engine:
        jdbc = {"path": "x", "format": "jdbc", "columns": None, "options": {"driver": "org.example.Evil"}}
        define(tmp_path / "home", "t", "table", jdbc)
        define(tmp_path / "home", "s", "stream", jdbc | {"timestamp": "ts"})
        for sql in ("s [RANGE 1 S SLIDE 1 S]", "t"):
            with pytest.raises(
                windrow.SourceError, match="unknown format 'jdbc'; there are parquet, csv, json"
            ):
                engine.query("q", f"SELECT COUNT(*) AS n FROM {sql}")


ANY_NAME = "../../evil {new} [of] 100%*? " + "Ü" * 200


def test_a_stream_may_have_any_name_and_stays_in_the_home(spark, tmp_path):
    """Its checkpoint, slices, late rows and dead letters, across a restart."""
    home = tmp_path / "deep" / "er" / "home"
    lines = Lines(tmp_path / "in")
    first, second = "2024-05-01 08:00:10,1\n2024-05-01 08:01:10,2\n", "2024-05-01 08:00:20,3\nbroken,4\n"
    for text in (first, second + "2024-05-01 08:02:10,5\n"):
        lines.add(text)
        engine = windrow.Engine(home, spark=spark)
        engine.stream(ANY_NAME, lines.path, timestamp="ts", format="csv", schema="ts TIMESTAMP, v INT")
        engine.query("q", f"SELECT SUM(v) AS total FROM `{ANY_NAME}` [RANGE 1 MINUTE SLIDE 1 MINUTE]")
        engine.run(seal=False)
    with engine:
        assert [row.total for row in engine.results("q").orderBy("window_end").collect()] == [1, 2]
        assert [row.v for row in engine.late(ANY_NAME.lower()).collect()] == [3]
        assert [row._raw for row in engine.dead(ANY_NAME).collect()] == ["broken,4"]
    for folder in ("streams", "late", "dead"):
        assert [path.name for path in (home / folder).iterdir()] == [folder_name(ANY_NAME)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "in"]
    assert [path.name for path in tmp_path.glob("deep/*/*")] == ["home"]
