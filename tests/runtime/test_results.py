"""The answers that a sink has missed come from the result files: every epoch once, whole, in order."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.harness.on_disk import add_query
from windrow.errors import HomeError
from windrow.runtime.epochs.sinks import catch_up, deliver
from windrow.runtime.home import compaction, home
from windrow.runtime.home.compaction import Compactor
from windrow.runtime.home.home import Home
from windrow.runtime.home.records import Advance, Epoch, Progress
from windrow.runtime.home.results import ResultWriter, answers_since
from windrow.runtime.state.queries import RunningQuery

INSTANT = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("window_start", INSTANT), ("window_end", INSTANT), ("n", pa.int64())])
EPOCHS = range(8)


class Moving:
    """A home, made without Spark, whose query answers into two files an epoch, beside another query."""

    def __init__(self, path):
        self.home = Home(path)
        self._running = ExitStack()
        self._running.enter_context(self.home.running())
        self.query, self.other = (
            add_query(self.home.catalog, name, "SELECT …", "s", SCHEMA) for name in ("q", "other")
        )

    def epoch(self, number):
        epoch = Epoch(number, float(number))
        for place in range(2):
            results = ResultWriter(self.home.path, number)
            for query in (self.query, self.other):
                value = query.id * 1000 + number * 10 + place
                ends = pa.array([number * 1_000_000 + place], pa.int64()).cast(INSTANT)
                answers = pa.table([ends, ends, pa.array([value])], schema=SCHEMA)
                whose = pa.array([query.id], pa.int32())
                results.write(query.schema_id, answers.append_column("_query", whose))
            epoch.files += results.close()
        epoch.streams["s"] = Advance(Progress(batch=number), number, rows=1)
        epoch.queries = [replace(query, latest_end=ends[0].value) for query in (self.query, self.other)]
        self.home.commit(epoch)

    def missed(self, after=-1):
        """What a sink would be given, as (epoch, values)."""
        given = answers_since(self.home, self.query, after)
        return [(number, sorted(answers["n"].to_pylist())) for number, answers in given]

    def expected(self, after=-1):
        return [(n, [1000 + n * 10, 1001 + n * 10]) for n in EPOCHS if n > after]


@pytest.fixture
def moving(tmp_path, monkeypatch):
    """Merged by threes: files of two and of one and a half epochs, and some that are still as they were."""
    monkeypatch.setattr(compaction, "FAN", 3)
    monkeypatch.setattr(home, "GRACE_SECONDS", 0)
    moving = Moving(tmp_path / "home")
    for number in EPOCHS:
        moving.epoch(number)
    return moving


def merge(moving):
    Compactor(moving.home, lambda: 1.0).compact()
    spans = [(file.first_epoch, file.last_epoch) for file in moving.home.catalog.files("results")]
    assert (0, 4) in spans  # and the other half of epoch 4 is elsewhere
    assert max(last for first, last in spans if first <= 4 and (first, last) != (0, 4)) > 4


@pytest.mark.parametrize("merged", [False, True])
def test_an_epoch_in_several_files_is_given_once_and_whole(moving, merged):
    if merged:
        merge(moving)
    for after in range(-1, 8):
        assert moving.missed(after) == moving.expected(after)


def test_what_is_not_yet_wanted_is_not_yet_read(moving, monkeypatch):
    read = []
    read_row_group = pq.ParquetFile.read_row_group

    def noted(file, group, *rest, **options):
        read.append(group)
        return read_row_group(file, group, *rest, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    given = answers_since(moving.home, moving.query, -1)
    for number in EPOCHS:
        assert next(given)[0] == number
        assert len(read) == 2 * (number + 1)


def test_a_sink_that_takes_longer_than_replaced_files_stay_is_given_all(moving):
    given = answers_since(moving.home, moving.query, -1)
    first = next(given)
    merge(moving)
    moving.home.remove_doomed(700.0)
    rest = [(number, sorted(answers["n"].to_pylist())) for number, answers in given]
    assert [(first[0], sorted(first[1]["n"].to_pylist())), *rest] == moving.expected()


def test_a_file_that_somebody_else_took_away_is_an_error(moving):
    (moving.home.path / moving.home.catalog.files("results")[3].path).unlink()
    with pytest.raises(HomeError, match="something other than Windrow changed the home"):
        moving.missed()


class Failing:
    """A sink that fails once at each epoch that it is told to, with whatever it is told to."""

    def __init__(self, *failures):
        self.calls, self.failures = [], dict(failures)

    def __call__(self, epoch, answers):
        self.calls.append((epoch, len(answers)))
        if epoch in self.failures:
            raise self.failures.pop(epoch)


def behind(moving, sink):
    """The query, with a sink that has had the answers of epoch 0."""
    moving.home.note_delivered({moving.query.id: 0})
    return RunningQuery(moving.home.catalog.query("q"), None, sink)


@pytest.mark.parametrize(
    "failure", [OSError("full"), SystemExit(1), GeneratorExit(), HomeError("its own home")]
)
def test_whatever_a_sink_raises_is_its_own_failure_and_the_epoch_comes_again(moving, failure):
    merge(moving)
    sink = Failing((3, failure))
    query = behind(moving, sink)
    catch_up(moving.home, query)
    assert query.sink_error is failure
    assert query.stored.delivered == 2
    deliver(moving.home, query, 8, [])
    assert query.sink_error is None
    assert sink.calls == [(1, 2), (2, 2), (3, 2), (3, 2), (4, 2), (5, 2), (6, 2), (7, 2)]
    sink.failures[8] = failure
    answers = pa.table([[0], [0], [0]], names=SCHEMA.names).cast(SCHEMA)
    deliver(moving.home, query, 8, [answers, answers])
    assert query.sink_error is failure
    assert query.stored.delivered == 7
    assert sink.calls[-1] == (8, 2)


def test_ctrl_c_in_a_sink_is_for_the_whole_process(moving):
    query = behind(moving, Failing((1, KeyboardInterrupt())))
    with pytest.raises(KeyboardInterrupt):
        catch_up(moving.home, query)
    assert query.stored.delivered == 0
