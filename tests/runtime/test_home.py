"""A home says clearly what is wrong with it, and loses nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from threading import Thread

import pyarrow.parquet as pq
import pytest

import windrow
from tests.oracle import assert_same_answers, recomputed, weights
from tests.streams import SECOND, SQL, Files, assert_answers, engine_on, same_events
from windrow.api.homes import home_status
from windrow.runtime.home.home import Home
from windrow.slicing import Window

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    files.add(40, 90)
    return files


def only(home, pattern):
    return max(home.glob(pattern))


DAMAGES = {
    "bytes and was written with": lambda path, content: path.write_bytes(content[:-100]),
    "its checksum differs": lambda path, content: path.write_bytes(
        content[:50] + bytes([content[50] ^ 1]) + content[51:]
    ),
    "is missing": lambda path, content: path.unlink(),
}
"""What is said of a file, and how it comes to that."""


def damaged(path):
    """Damages a file in every way, one after the other, and says what is then to be said; whole in the end."""
    content = path.read_bytes()
    for told, damage in DAMAGES.items():
        damage(path, content)
        yield told
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def test_damaged_slices_are_named_and_nothing_is_made_up(spark, files, tmp_path):
    home = tmp_path / "home"
    engine_on(files, home).run(seal=False)
    files.add(90, 100)
    path = only(home, "slices/operators/*.slices")
    for told in damaged(path):
        engine = engine_on(files, home)
        with pytest.raises(windrow.HomeError, match=f"{path.name}.*{told}.*put the file.* back from a copy"):
            engine.run(seal=False)
        assert engine.progress("events").rows == 900  # the epoch that needed it was not committed
    engine = engine_on(files, home)
    engine.check()
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 100))


def test_damaged_results_are_named_and_nothing_is_made_up(spark, files, tmp_path):
    home = tmp_path / "home"
    engine = engine_on(files, home)
    engine.run(seal=False)
    files.add(90, 100)
    path = only(home, "results/*/*.parquet")
    for told in damaged(path):
        # Spark does not look at every byte; a check of the home does.
        ask = engine.check if told == "its checksum differs" else lambda: engine.results("q")
        with pytest.raises(windrow.HomeError, match=f"{path.name}.*{told}"):
            ask()
    engine = engine_on(files, home)
    engine.check()
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 100))


def test_a_damaged_catalog_is_named(spark, tmp_path):
    home = tmp_path / "home"
    windrow.Engine(home, spark=spark).close()
    (home / "catalog.db").write_bytes(b"SQLite format 3\0" + b"nonsense" * 1000)
    with pytest.raises(windrow.HomeError, match=r"cannot use .*/home as a home: .*catalog\.db is damaged"):
        windrow.Engine(home, spark=spark)


def test_a_home_that_cannot_be_written_is_refused(tmp_path):
    """As a user without rights, in a process of its own: root may write everywhere."""
    home = tmp_path / "home"
    Home(home).close()
    program = textwrap.dedent(f"""
        import os
        from windrow.runtime.home.home import Home
        from windrow.errors import HomeError
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            Home({str(home)!r})
        except HomeError as error:
            print("refused:", error)
    """)
    for path in [home, *home.iterdir()]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in tmp_path.parents:
        if (
            parent.owner() == Path.home().owner()
            and os.access(parent, os.W_OK)
            and parent.name.startswith("pytest")
        ):
            parent.chmod(0o755)
    tmp_path.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    home.chmod(0o755)
    assert "refused: cannot use" in done.stdout, done.stderr
    assert "an engine must be able to write there" in done.stdout


def test_a_directory_with_other_things_is_no_home(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(windrow.HomeError, match="is not a home, and it is not empty"):
        Home(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]


def test_one_engine_runs_at_a_time(tmp_path):
    first, second = Home(tmp_path / "home"), Home(tmp_path / "home")
    with (
        first.running(),
        pytest.raises(windrow.HomeError, match="another engine is running on"),
        second.running(),
    ):
        pass
    with second.running():
        pass


def test_what_a_crash_left_is_swept_away(spark, files, tmp_path):
    home = tmp_path / "home"
    engine_on(files, home).run(seal=False)
    orphan = only(home, "results/*/*.parquet").with_name("000000007-deadbeef.parquet")
    orphan.write_bytes(b"half a file")
    engine = engine_on(files, home)
    engine.run(seal=True)
    assert not orphan.exists()
    assert_answers(engine, same_events(0, 90))


def unpacked(archive, directory):
    """A home that an earlier version made elsewhere, with the files of its streams."""
    shutil.unpack_archive(FIXTURES / archive, directory)
    home = directory / "home"
    with sqlite3.connect(home / "catalog.db") as database:
        database.execute(
            "UPDATE relations SET definition = replace(definition, '/OLD/', ?)", (f"{directory}/",)
        )
    database.close()
    for path in (home / "streams").rglob("*"):
        if path.is_file():
            path.write_text(path.read_text().replace("/OLD/", f"{directory}/"))
    return home


@pytest.mark.parametrize("format", [1, 2, 3])
def test_a_home_of_a_format_that_is_no_longer_opened_is_left_as_it_is(tmp_path, format):
    """Whether an engine opens it or somebody only asks how it is doing."""
    Home(tmp_path / "home").close()
    with sqlite3.connect(tmp_path / "home" / "catalog.db") as database:
        database.execute("UPDATE about SET format = ?", (format,))
    database.close()
    before = (tmp_path / "home" / "catalog.db").read_bytes()
    for opened in (Home, home_status):
        with pytest.raises(windrow.HomeError) as raised:
            opened(tmp_path / "home")
        assert str(raised.value) == (
            f"{tmp_path / 'home'} has format {format} and this Windrow opens formats 4 to 7; open it once with "
            "an earlier Windrow, which brings it to format 5, or begin a new home, which reads the streams from "
            "their beginning"
        )
    assert (tmp_path / "home" / "catalog.db").read_bytes() == before


def test_a_home_of_format_4_is_brought_up_to_date_and_goes_on(spark, tmp_path):
    """The version that had format 4 has read two of three Parquet files and one of two CSV files, whose second
    column has another name than was declared: it went by position, and this home goes on with that."""
    home = unpacked("home-format-4.tar.gz", tmp_path)
    engine = windrow.Engine(home, spark=spark)
    assert {stream.name: stream.rows for stream in engine.status().streams} == {"events": 900, "readings": 2}
    engine.run(seal=True)
    assert engine.progress("events").rows == 1300
    assert_answers(engine, pq.read_table(tmp_path / "in"))
    answers = engine.results("sums").orderBy("window_end", "other").collect()
    assert [(row.window_end.timestamp(), row.other, row.total) for row in answers] == [
        *((end, "a", 1) for end in (10, 20, 30)),
        (60, "a", 2), (70, "a", 2), (70, "b", 4), (80, "a", 2), (80, "b", 4), (90, "b", 4),
        *((end, "a", 8) for end in (120, 130, 140)),
    ]  # fmt: skip


def test_a_home_of_format_5_is_brought_up_to_date_and_goes_on(spark, tmp_path):
    """The version that had format 5 has read two of three files, for queries that share a tree, one alone, one that
    needs the values themselves, and a window of rows: their states go on in operators of the same numbers."""
    home = unpacked("home-format-5.tar.gz", tmp_path)
    rows = pq.read_table(tmp_path / "in")
    with windrow.Engine(home, spark=spark, nodes=1) as engine:
        told = engine.explain()
        assert "tree 3 (running): 2 queries" in told
        engine.run(seal=True)
        for name, window, keys, aggs, where in (
            ("short", Window(20 * SECOND, 5 * SECOND), ["k"], {"total": "SUM(v)"}, "true"),
            ("long", Window(30 * SECOND, 7 * SECOND), ["k"], {"total": "SUM(v)", "most": "MAX(v)"}, "true"),
            ("few", Window(8 * SECOND, 4 * SECOND), [], {"n": "COUNT(*)"}, "v > 0"),
            ("middle", Window(10 * SECOND, 5 * SECOND), [], {"m": "MEDIAN(v)"}, "true"),
        ):
            expected = recomputed(rows, window, keys, aggs | weights("v"), where)
            tolerances = {"total": "_abs_v"} if "total" in aggs else {}
            assert assert_same_answers(engine.results(name), expected, keys, tolerances) > 8
        counted = engine.results("rows").orderBy("window_row").collect()
        values = rows["v"].to_pylist()  # in the order of their instants
        assert [row.window_row for row in counted] == list(range(15, 451, 15))
        for row in counted:
            held = values[max(row.window_row - 40, 0) : row.window_row]
            assert (row.n, row.a) == (len(held), pytest.approx(sum(held) / len(held)))


def test_a_home_of_format_6_is_brought_up_to_date_and_goes_on(spark, tmp_path):
    """The version that had format 6 has read two of three files, for queries that share a tree, one that needs the
    values themselves, and one without a window: each of one stream, which it said in another table."""
    home = unpacked("home-format-6.tar.gz", tmp_path)
    rows = pq.read_table(tmp_path / "in")
    with windrow.Engine(home, spark=spark, nodes=1) as engine:
        assert {query.name: query.stream for query in engine.status().queries} == dict.fromkeys(
            ("short", "long", "middle", "hot"), "events"
        )
        engine.run(seal=True)
        for name, window, keys, aggs in (
            ("short", Window(20 * SECOND, 5 * SECOND), ["k"], {"total": "SUM(v)"}),
            ("long", Window(30 * SECOND, 7 * SECOND), ["k"], {"total": "SUM(v)", "most": "MAX(v)"}),
            ("middle", Window(10 * SECOND, 5 * SECOND), [], {"m": "MEDIAN(v)"}),
        ):
            expected = recomputed(rows, window, keys, aggs | weights("v"), "true")
            tolerances = {"total": "_abs_v"} if "total" in aggs else {}
            assert assert_same_answers(engine.results(name), expected, keys, tolerances) > 8
        hot = [row.v for row in engine.results("hot").orderBy("ts").collect()]
        assert hot == [v for v in rows["v"].to_pylist() if v > 0.5]


def test_the_same_query_again_is_the_same(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    engine.run(seal=False)
    again = engine_on(files, tmp_path / "home", sql=SQL)
    again.run(seal=True)
    assert_answers(again, same_events(0, 90))


def test_the_catalog_is_not_closed_while_another_thread_uses_it(tmp_path):
    """Python's sqlite3 would crash the process, now and then."""
    home = Home(tmp_path / "home")
    closing = Thread(target=home.close)
    with home.catalog.transaction() as database:
        closing.start()
        closing.join(0.2)
        database.execute("UPDATE about SET owner = 'somebody'")
    closing.join()
    with pytest.raises(windrow.HomeError, match="closed database"):
        home.catalog.rows("SELECT 1")
    with sqlite3.connect(tmp_path / "home" / "catalog.db") as database:
        assert database.execute("SELECT owner FROM about").fetchall() == [("somebody",)]
    database.close()
