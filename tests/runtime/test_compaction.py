"""Compaction changes nothing that can be asked for; RETAIN does, and exactly what it says."""

from __future__ import annotations

import errno
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from threading import Event, Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.harness.faults import at_steps, once
from tests.harness.on_disk import add_query, committed_files, compact
from tests.homes import take_back_to_format_4
from tests.streams import Files, assert_answers, engine_on, same_events
from windrow.columns import END_OF_TIME
from windrow.errors import HomeError
from windrow.operators.state.tables_at_rest import name_of, named
from windrow.runtime.home import compaction, home
from windrow.runtime.home.catalog import about
from windrow.runtime.home.compaction import Compactor
from windrow.runtime.home.home import Home
from windrow.runtime.home.records import Advance, DataFile, Epoch, OperatorSize, Progress
from windrow.runtime.home.results import ResultWriter
from windrow.runtime.home.slice_log import SliceLog, State

DAY = 86_400_000_000
SCHEMA = pa.schema(
    [
        ("window_start", pa.timestamp("us", "UTC")),
        ("window_end", pa.timestamp("us", "UTC")),
        ("n", pa.int64()),
    ]
)


@pytest.fixture
def small(monkeypatch):
    """Few files are many, so that tests need not write thousands."""
    monkeypatch.setattr(compaction, "FAN", 3)
    monkeypatch.setattr(home, "GRACE_SECONDS", 0)
    monkeypatch.setattr(home, "LEAST_GRACE_SECONDS", 0)


class Ages:
    """Epochs of a home, without Spark: answers of a few rows and slices, as an epoch writes them."""

    def __init__(self, path, retain=None, queries=2, window=5, schemas=1):
        self.home = Home(path)
        self._running = ExitStack()
        self._running.enter_context(self.home.running())
        of_schema = [SCHEMA.set(2, pa.field(f"n{'' if i == 0 else i}", pa.int64())) for i in range(schemas)]
        self.queries = [
            add_query(self.home.catalog, f"q{i}", "SELECT …", "s", of_schema[i % schemas], retain)
            for i in range(queries)
        ]
        self.log = SliceLog(self.home)
        self.window = window
        self.ids = [query.id for query in self.queries]
        with self.home.catalog.transaction() as database:  # each query in an operator of its own number
            operators = [(number, 0, "[0, 0, 0]") for number in self.ids]
            database.executemany("INSERT INTO operators (id, shared, price) VALUES (?, ?, ?)", operators)

    def stop(self):
        """Let another engine take the home."""
        self._running.close()

    def epoch(self, number, rows=1, at=None):
        """An epoch whose windows end at a second: that of its number, if no other is given."""
        end = (number if at is None else at) * 1_000_000
        results = ResultWriter(self.home.path, number)
        for query in self.queries:
            instants = pa.array([end], pa.int64()).cast(SCHEMA.field("window_end").type)
            answers = pa.table([instants, instants, pa.array([query.id * number])], schema=query.schema)
            results.write(query.schema_id, answers.append_column("_query", pa.array([query.id], pa.int32())))
        closed, opened = (
            pa.table({"_slice": [number] * rows, "x": [number] * rows}),
            pa.table({"_slice": [number + 1], "x": [-number]}),
        )
        epoch = Epoch(number, float(number))
        epoch.files = [
            *results.close(),
            *self.log.write(number, [State(query, [closed], opened) for query in self.ids]),
        ]
        epoch.unneeded = self.log.unneeded(dict.fromkeys(self.ids, number - self.window), self.ids)
        epoch.streams["s"] = Advance(Progress(batch=number, watermark=number), number, rows=1)
        for query in self.home.catalog.queries():
            epoch.queries.append(replace(query, latest_end=end, answers=number))
        self.home.commit(epoch)

    def answers(self):
        rows = [pq.read_table(self.home.path / file.path) for file in self.home.catalog.files("results")]
        return sorted(tuple(row.values())[2:] for table in rows for row in table.to_pylist())

    def count(self):
        return sum(path.is_file() for path in self.home.path.rglob("*"))


def test_many_epochs_leave_few_files_and_all_their_answers(tmp_path):
    """Enough for files of three levels, 16 × 16 of the first in one of the last; `script/soak` has ten thousand."""
    ages = Ages(tmp_path / "home", window=120)
    compactor = Compactor(ages.home, lambda: float(number))
    for number in range(300):
        ages.epoch(number)
        compactor.compact()
    files = ages.count()
    assert files <= 16 * 3 * 2 + home.GRACE_FILES + 5
    assert ages.answers() == sorted(
        (query * number, query, number) for query in ages.ids for number in range(300)
    )
    closed, opened = SliceLog(Home(tmp_path / "home")).read(ages.ids[0])
    assert [x for table in closed for x in table["x"].to_pylist()][-121:] == list(range(179, 300))
    assert opened["x"].to_pylist() == [-299]
    assert ages.home.catalog.rows("SELECT count(*) FROM epochs") == [(300,)]


def test_the_slice_log_is_bounded_by_the_windows(tmp_path, small):
    ages = Ages(tmp_path / "home", window=5)
    compactor = Compactor(ages.home, lambda: 0.0)
    sizes = []
    for number in range(120):
        ages.epoch(number)
        compactor.compact()
        sizes.append(sum(file.rows for file in ages.home.catalog.files("slices")))
        _, opened = SliceLog(ages.home).read(ages.ids[0])  # also when the newest file was merged
        assert opened["x"].to_pylist() == [-number]
    assert max(sizes[60:]) <= max(sizes[:60])


def test_a_merge_leaves_out_the_rows_of_a_tree_that_are_no_longer_needed(tmp_path, small):
    """Also beside rows that are needed for ever, which keep their files."""
    ages = Ages(tmp_path / "home", queries=1)
    (operator,) = ages.ids
    for number in range(3):
        rows = pa.table({"_slice": [number + 1, number + 2, END_OF_TIME], "x": [number] * 3})
        other = pa.table({"_slice": [number + 1], "y": ["…"]})
        states = [State(operator, [named(rows, "rows"), named(other, "other")], None)]
        epoch = Epoch(number, float(number))
        epoch.files = ages.log.write(number, states)
        epoch.sizes = [OperatorSize(operator, number + 1, 3, 0, 0)]
        epoch.streams["s"] = Advance(Progress(batch=number, watermark=number), number, rows=1)
        ages.home.commit(epoch)
    Compactor(ages.home, lambda: 3.0).compact()
    assert len(ages.home.catalog.files("slices")) == 1
    closed, _ = SliceLog(ages.home).read(operator)
    needed = {name_of(table.schema): table.drop_columns(["_slice"]).to_pydict() for table in closed}
    assert needed == {"rows": {"x": [0, 1, 1, 2, 2, 2]}, "other": {"y": ["…"]}}
    ages.stop()


def test_an_epoch_that_looks_at_files_while_they_are_merged(tmp_path, small, monkeypatch):
    """After a restart it has not read them yet, and must find those that it has found listed."""
    ages = Ages(tmp_path / "home", window=5)
    for number in range(3):
        ages.epoch(number)
    ages.log = SliceLog(ages.home)
    merging = Thread(target=Compactor(ages.home, lambda: 0.0).compact)
    written = Event()
    look = ages.log.segments

    def segments(file):
        if merging.ident is None:
            merging.start()
            assert written.wait(60)
            merging.join(0.5)  # the files would be gone by now, if they could go
        return look(file)

    monkeypatch.setattr(ages.log, "segments", segments)
    with at_steps(once("compaction written", written.set)):
        assert ages.log.unneeded(dict.fromkeys(ages.ids, 0), ages.ids) == []
        merging.join()
    (merged,) = ages.home.catalog.files("slices")
    assert merged.level == 1


def test_files_that_an_epoch_lets_go_while_they_are_merged_are_no_damage(tmp_path, small, monkeypatch):
    ages = Ages(tmp_path / "home", window=5)
    for number in range(3):
        ages.epoch(number)
    merge = SliceLog.merge

    def interrupted(log, files, path, alive):
        if ages.window:
            ages.window = 0  # now only its own slices are needed
            ages.epoch(3)
        return merge(log, files, path, alive)

    with monkeypatch.context() as patch:
        patch.setattr(SliceLog, "merge", interrupted)
        Compactor(ages.home, lambda: 0.0).compact()
    assert [(file.level, file.first_epoch) for file in ages.home.catalog.files("slices")] == [(0, 3)]
    assert ages.home.check()
    (ages.home.path / ages.home.catalog.files("slices")[0].path).unlink()
    ages.window = 20
    for number in (4, 5):
        ages.epoch(number)
    with pytest.raises(HomeError, match="is missing; something other than Windrow changed the home"):
        Compactor(ages.home, lambda: 0.0).compact()


def test_a_full_disk_is_said_whatever_epochs_do_meanwhile(tmp_path, small, monkeypatch):
    ages = Ages(tmp_path / "home", window=5)
    for number in range(3):
        ages.epoch(number)

    def full(log, files, path, alive):
        ages.window = 0
        ages.epoch(3)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SliceLog, "merge", full)
    with pytest.raises(OSError, match="No space left"):
        Compactor(ages.home, lambda: 0.0).compact()


def test_a_directory_does_not_go_with_its_last_file_while_another_is_about_to_be_written(tmp_path, small):
    ages = Ages(tmp_path / "home")
    ages.epoch(0)
    coming = ages.home.new_path("slices/operators", 1, "slices")
    ages.home.replace_files(ages.home.catalog.files("slices"), [], 0.0)
    coming.write_bytes(b"")
    assert [*(ages.home.path / "slices" / "operators").iterdir()] == [coming]


def test_answers_past_their_retain_are_gone_at_once_and_their_files_soon(spark, tmp_path, small):
    ages = Ages(tmp_path / "home", retain=10_000_000)
    compactor = Compactor(ages.home, lambda: 1.0)
    for number in range(40):
        ages.epoch(number)
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    seen = sorted(row.window_end.timestamp() for row in engine.results("q0").collect())
    assert seen == list(range(30, 40))
    assert len(ages.answers()) == 80
    compactor.compact()
    seen = sorted(row.window_end.timestamp() for row in engine.results("q0").collect())
    assert seen == list(range(30, 40))
    assert len(ages.answers()) <= 2 * (10 + 9)  # what is in files with others that are still there


def test_an_answer_that_one_query_lets_go_another_may_keep(tmp_path, small):
    ages = Ages(tmp_path / "home")
    with ages.home.catalog.transaction() as database:
        database.execute("UPDATE queries SET retain = 5000000 WHERE id = ?", (ages.ids[0],))
    compactor = Compactor(ages.home, lambda: 1.0)
    for number in range(30):
        ages.epoch(number)
        compactor.compact()
    kept = ages.answers()
    assert [row for row in kept if row[1] == ages.ids[1]] == [
        (ages.ids[1] * n, ages.ids[1], n) for n in range(30)
    ]
    assert len([row for row in kept if row[1] == ages.ids[0]]) < 15


def test_the_rows_of_a_dropped_query_go_with_the_next_merge(tmp_path, small):
    ages = Ages(tmp_path / "home")
    compactor = Compactor(ages.home, lambda: 1.0)
    for number in range(8):
        ages.epoch(number)
    ages.home.drop_query(ages.queries[0], 1.0)
    ages.queries = ages.queries[1:]
    ages.epoch(8)
    compactor.compact()
    assert {row[1] for row in ages.answers()} == {ages.ids[1]}
    ages.home.drop_query(ages.queries[0], 1.0)
    assert ages.home.catalog.files("results") == []


def test_a_stream_is_answered_alike_with_and_without(spark, tmp_path, small):
    files = Files(spark, tmp_path / "in")
    for start in range(0, 80, 8):
        files.add(start, start + 8)
    engine = engine_on(files, tmp_path / "home")
    engine.run(seal=False)
    compact(engine)
    merged = [file for file in committed_files(tmp_path / "home", "results", "slices") if file.level]
    assert {file.kind for file in merged} == {"results", "slices"}
    files.add(80, 90)
    again = engine_on(files, tmp_path / "home")  # which reads the merged slices
    again.run(seal=True)
    again.check()
    assert_answers(again, same_events(0, 90))


def test_the_last_hour_is_read_from_few_files(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "FAN", 1000)
    files = Files(spark, tmp_path / "in")
    for start in range(0, 80, 8):
        files.add(start, start + 8)
    engine = engine_on(files, tmp_path / "home")
    engine.run(seal=True)
    whole, last = engine.results("q"), engine.results("q", last="20 seconds")
    latest = max(row.window_end for row in whole.collect())
    assert sorted(last.collect()) == sorted(
        row for row in whole.collect() if row.window_end > latest - timedelta(seconds=20)
    )
    assert len(last.inputFiles()) < len(whole.inputFiles()) / 2
    with_epochs = engine.results("q", epochs=True)
    assert with_epochs.columns == [*whole.columns, "_epoch"]
    assert {row._epoch for row in with_epochs.collect()} == set(range(11))


def test_late_rows_and_dead_letters_are_kept_for_their_retain(spark, tmp_path, small):
    files = Files(spark, tmp_path / "in")
    now = [1_000_000.0]
    for start in (100, 0, 1, 2, 3):
        files.add(start, start + 1)
    engine = engine_on(files, tmp_path / "home", clock=lambda: now[0], retain="1 hour")
    engine.run(seal=False)
    compact(engine, lambda: now[0])
    assert [file.level for file in committed_files(tmp_path / "home", "late")] == [1, 0]
    assert engine.late("events").count() == 40
    now[0] += 3601
    compact(engine, lambda: now[0])
    assert engine.late("events").count() == 40  # no epoch has seen that it is later
    files.add(4, 5)
    engine.run(seal=False)
    assert engine.late("events").count() == 10
    assert engine.progress("events").late == 50


class Refused:
    """A home whose epochs, made without Spark, each refuse a row, which is kept for two days."""

    def __init__(self, path):
        self.home, self.epochs = Home(path), 0
        self._running = ExitStack()
        self._running.enter_context(self.home.running())
        self.home.define("s", "stream", {"retain": 2 * DAY})

    def epoch(self, clock):
        path = self.home.new_path("late/s", self.epochs, "parquet")
        pq.write_table(pa.table({"v": [self.epochs]}), path)
        epoch = Epoch(self.epochs, clock)
        epoch.files = [DataFile(self.home.name_of(path), "late", "s", self.epochs, self.epochs, 1)]
        epoch.streams["s"] = Advance(Progress(batch=self.epochs, late=1), self.epochs, late=1)
        self.home.commit(epoch)
        self.epochs += 1

    def open_again(self):
        """As an engine of this version does with a home of another."""
        self._running.close()
        self.home.close()
        self.home = Home(self.home.path)
        self._running.enter_context(self.home.running())

    def kept(self):
        """The epochs whose rows are left after housekeeping."""
        Compactor(self.home, lambda: 0.0).compact()
        return [file.first_epoch for file in self.home.catalog.files("late")]


def test_a_step_of_the_clock_does_not_let_late_rows_expire(tmp_path, monkeypatch):
    monkeypatch.setattr(about, "RECENT_EPOCHS", 3)
    now, day = 1_700_000_000.0, 86_400.0
    refused = Refused(tmp_path / "home")
    refused.epoch(now)
    refused.epoch(now + 30 * day)  # somebody sets the clock, or the machine was off
    assert refused.home.catalog.clock() == now + day
    refused.epoch(now + 30 * day + 1)
    refused.epoch(now + 30 * day + 2)  # nor do the epochs after the step make up for it
    assert refused.home.catalog.clock() == now + day + 2
    for _ in range(3):  # somebody sets it back
        refused.epoch(now)
    assert refused.home.catalog.clock() == now + day + 2
    assert refused.kept() == [0, 1, 2, 3, 4, 5, 6]
    refused.epoch(now + day)
    assert refused.kept() == [1, 2, 3, 4, 5, 6, 7]
    refused.epoch(now + 2 * day)
    assert refused.kept() == [3, 4, 5, 6, 7, 8]


def test_batches_that_are_staged_at_the_same_time_do_not_make_the_clock_of_a_home_run_ahead(tmp_path):
    refused = Refused(tmp_path / "home")
    for second in (100, 50, 101, 60, 102, 103):
        refused.epoch(float(second))
    assert refused.home.catalog.clock() == 103.0


def test_late_rows_of_a_home_of_format_4_expire_as_they_would_have(tmp_path):
    now, day = 1_700_000_000.0, 86_400.0
    refused = Refused(tmp_path / "home")
    refused.epoch(now)
    refused.epoch(now + day)
    with refused.home.catalog.transaction() as database:
        take_back_to_format_4(database.execute)
    refused.open_again()
    refused.epoch(now + 2 * day)
    assert refused.kept() == [0, 1, 2]
    refused.epoch(now + 2 * day + 1)
    assert refused.kept() == [1, 2, 3]


def test_replaced_files_stay_for_a_minute_however_many_they_are(tmp_path):
    """Of twenty result schemas, one epoch can replace 320."""
    opened = Home(tmp_path / "home")
    paths = [opened.new_path(f"results/{number % 20}", number, "parquet") for number in range(320)]

    def left():
        return sum(path.exists() for path in paths)

    for path in paths:
        path.write_bytes(b"")
    with opened.catalog.transaction() as database:
        opened.catalog.forget_files(database, [opened.name_of(path) for path in paths], 1000.0)
    with opened.running():
        opened.remove_doomed(1059.0)
        assert left() == 320
        opened.remove_doomed(1060.0)
        assert left() == home.GRACE_FILES
        opened.remove_doomed(0.0)  # the clock is set back, and they do not wait until it is what it was
        opened.remove_doomed(599.0)
        assert left() == home.GRACE_FILES
        opened.remove_doomed(600.0)
        assert left() == 0
    assert opened.catalog.rows("SELECT count(*) FROM doomed") == [(0,)]


@pytest.mark.parametrize("retain", [None, 10_000_000])
def test_queries_are_read_once_if_answers_may_have_expired_and_otherwise_not_at_all(
    tmp_path, monkeypatch, retain
):
    ages = Ages(tmp_path / "home", retain=retain, queries=40, schemas=20)
    compactor = Compactor(ages.home, lambda: 1.0)
    statements = []
    rows = ages.home.catalog.rows

    def noted(sql, *values):
        statements.append(sql)
        return rows(sql, *values)

    monkeypatch.setattr(ages.home.catalog, "rows", noted)

    def readings():
        statements.clear()
        compactor.compact()
        return sum("FROM queries" in sql for sql in statements)

    ages.epoch(0)
    assert readings() == 1  # another engine may have left something
    assert readings() == 0
    ages.epoch(1)
    assert readings() == (retain is not None)
    ages.home.drop_query(ages.queries.pop(), 1.0)
    assert readings() == 1
    assert readings() == 0


def test_what_another_process_did_to_a_home_is_looked_at_when_an_engine_starts(tmp_path, small):
    ages = Ages(tmp_path / "home")
    ages.queries, (other,) = ages.queries[:1], ages.queries[1:]
    ages.epoch(0)
    ages.epoch(1, at=20)
    compactor = Compactor(ages.home, lambda: 1.0)
    compactor.compact()
    ages.stop()
    elsewhere = Home(tmp_path / "home")
    elsewhere.drop_query(other, 1.0)
    query = ages.queries[0]
    add_query(elsewhere.catalog, query.name, query.sql, *query.streams, query.schema, 5_000_000)
    looked = Event()
    at_end = at_steps(once("compacted files removed", looked.set))
    with at_end, ages.home.running(), compactor.working():
        assert looked.wait(60)
    assert [file.first_epoch for file in ages.home.catalog.files("results")] == [1]


def test_a_dropped_query_a_new_retain_and_a_failure_are_looked_at(tmp_path, small, monkeypatch):
    ages = Ages(tmp_path / "home")
    compactor = Compactor(ages.home, lambda: 1.0)
    for number in (0, 1):
        ages.epoch(number, at=20 * number)
        compactor.compact()
    for query in ages.queries:
        add_query(ages.home.catalog, query.name, query.sql, *query.streams, query.schema, 5_000_000)
    with monkeypatch.context() as patch:
        patch.setattr(ages.home, "replace_files", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            compactor.compact()
    compactor.compact()
    assert [file.first_epoch for file in ages.home.catalog.files("results")] == [1]
    ages.queries, others = ages.queries[:1], ages.queries[1:]
    ages.epoch(2, at=22)  # of one query only
    with ages.home.catalog.transaction() as database:
        database.execute("UPDATE queries SET latest_end = 20000000 WHERE id = ?", (others[0].id,))
    ages.home.drop_query(ages.queries[0], 1.0)
    compactor.compact()
    assert [file.first_epoch for file in ages.home.catalog.files("results")] == [1]


def test_a_large_file_is_not_merged_around(tmp_path, small, monkeypatch):
    """Slices close in the order of epochs, and the newest open ones count."""
    ages = Ages(tmp_path / "home", window=100)
    for number in range(8):
        ages.epoch(number, rows=1000 if number == 2 else 1)
    sizes = [file.bytes for file in ages.home.catalog.files("slices")]
    monkeypatch.setattr(compaction, "FULL", sizes[2])
    assert max(sizes[:2] + sizes[3:]) < sizes[2]
    Compactor(ages.home, lambda: 0.0).compact()
    closed, opened = SliceLog(ages.home).read(ages.ids[0])
    assert [x for table in closed for x in dict.fromkeys(table["x"].to_pylist())] == list(range(8))
    assert opened["x"].to_pylist() == [-7]


def test_a_query_that_stands_still_does_not_keep_the_answers_of_others(tmp_path, small):
    ages = Ages(tmp_path / "home", retain=10_000_000)
    compactor = Compactor(ages.home, lambda: 1.0)
    add_query(ages.home.catalog, "never", "SELECT …", "s", SCHEMA)  # the same schema, and no answer ever
    never = ages.home.catalog.query("never").id
    for number in range(100):
        ages.epoch(number)
        with ages.home.catalog.transaction() as database:
            database.execute("UPDATE queries SET latest_end = NULL WHERE id = ?", (never,))
        compactor.compact()
    assert len(ages.home.catalog.files("results")) < 20


def test_one_file_that_spans_much_does_not_stop_the_rest(tmp_path, small):
    ages = Ages(tmp_path / "home", retain=50_000_000)
    compactor = Compactor(ages.home, lambda: 1.0)
    ages.epoch(0)
    with ages.home.catalog.transaction() as database:
        database.execute("UPDATE files SET earliest = -1000000000000 WHERE kind = 'results'")
    for number in range(1, 60):
        ages.epoch(number)
        compactor.compact()
    assert len(ages.home.catalog.files("results")) < 20
