"""Whose fault an error is: by what Spark really raises, and by exceptions of Java's that are dear to provoke."""

from __future__ import annotations

import pickle
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.sql.functions import udf

from tests.cancelling import doomed
from windrow import HomeError, MachineFailed, QueryFailed
from windrow.runtime.spark import patience
from windrow.runtime.spark.analysis import quiet
from windrow.runtime.spark.blame import ENGINE_ERRORS, Stopped, Unclear, Unreadable, failure, passes
from windrow.runtime.spark.patience import Patience


def raised(frame):
    """What a frame that cannot be collected means."""
    with pytest.raises(ENGINE_ERRORS) as error, quiet():
        frame.toArrow()
    return failure(error.value)


DATA = {
    "1 / (id - 3)": "Division by zero",
    "CAST(concat('x', id) AS INT)": "The value 'x",
    "id + 9223372036854775807": "overflow",
    "array(1, 2)[id]": "out of bounds",
    "to_timestamp(concat('x', id))": "The value 'x",
    "raise_error('it is bad')": "it is bad",
    "map(id, 1, id, 2)": "Duplicate map key",
    "sequence(0, 10000000000 + id)": "Can't create array",
    # What a value says is not what happened.
    "CAST(concat('[FAILED_READ_FILE.NO_HINT] Job 1 cancelled', id) AS INT)": "The value",
    "raise_error('(TID 1) (x): ExecutorLostFailure (No space left on device')": "ExecutorLost",
}


@pytest.mark.parametrize(("expression", "told"), DATA.items())
def test_errors_of_data_are_a_querys(spark, expression, told):
    found = raised(spark.range(5).selectExpr(expression))
    assert type(found) is QueryFailed
    assert told in str(found)
    assert not passes(found)


def test_errors_of_users_functions_are_a_querys(spark):
    @udf("int")
    def own(value):
        raise ValueError(f"no {value} please")

    found = raised(spark.range(1).select(own("id")))
    assert type(found) is QueryFailed
    assert "no 0 please" in str(found)


def test_files_that_are_away_or_broken_are_the_machines(spark, tmp_path):
    pq.write_table(pa.table({"k": [1, 2, 3]}), tmp_path / "a.parquet")
    frame = spark.read.parquet(str(tmp_path))
    (tmp_path / "a.parquet").rename(tmp_path / "away")
    found = raised(frame)
    assert isinstance(found, Unreadable)
    assert "a.parquet" in str(found)
    assert passes(found)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 this is not Parquet PAR1")
    assert isinstance(raised(frame), Unreadable)


def test_cancelled_jobs_are_the_machines(spark):
    with doomed(spark):
        found = raised(spark.range(5))
    assert type(found) is MachineFailed
    assert "cancelled" in str(found)
    assert passes(found)


def java(spark, name, *arguments):
    """An exception of Java's."""
    return getattr(spark._jvm, name)(*arguments)


def by_spark(spark, message, cause=None):
    """What a failed job ends in, as PySpark raises it."""
    thrown = java(spark, "org.apache.spark.SparkException", message, cause)
    return Py4JJavaError("", java(spark, "org.apache.spark.SparkException", "Exception thrown in awaitResult: ", thrown))  # fmt: skip


LOST = (
    "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 "
    "in stage 0.0 (TID 3) (192.0.2.2 executor 0): ExecutorLostFailure (executor 0 exited caused by one of the "
    "running tasks) Reason: Command exited with code 137\nDriver stacktrace:"
)
CRASHED = "Job aborted due to stage failure: … (TID 3) (192.0.2.2 executor driver): org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"  # fmt: skip


@pytest.mark.parametrize(
    ("message", "cause", "kind", "told", "again"),
    [
        (LOST, None, MachineFailed, "an executor was lost: (executor 0 exited", True),
        ("Job 7 cancelled because SparkContext was shut down", None, MachineFailed, "Spark was stopped", False),
        ("Job aborted", ("java.io.IOException", "No space left on device"), MachineFailed, "Job aborted", True),
        ("Job aborted", ("java.net.ConnectException", "refused"), MachineFailed, "Job aborted", True),
        ("Job aborted", ("java.lang.ArithmeticException", "long overflow"), QueryFailed, "Job aborted", False),
        ("Job aborted", ("java.lang.OutOfMemoryError", "Java heap space"), Unclear, "Job aborted", False),
        (CRASHED, None, Unclear, "crashed", False),
    ],
)  # fmt: skip
def test_what_java_says(spark, message, cause, kind, told, again):
    found = failure(by_spark(spark, message, None if cause is None else java(spark, *cause)))
    assert type(found) is kind
    assert told in str(found)
    assert "\n" not in str(found)
    assert passes(found) == again


def test_an_internal_error_of_spark_is_unclear(spark):
    thrown = spark._jvm.org.apache.spark.SparkException.internalError("no code could be generated")
    found = failure(Py4JJavaError("", thrown))
    assert type(found) is Unclear
    assert "no code could be generated" in str(found)


@pytest.mark.parametrize(
    ("error", "kind", "again"),
    [
        (Py4JNetworkError("Answer from Java side is empty"), MachineFailed, False),
        (ConnectionRefusedError(111, "Connection refused"), MachineFailed, False),
        (OSError(28, "No space left on device"), MachineFailed, True),
        (sqlite3.OperationalError("database or disk is full"), MachineFailed, True),
        (sqlite3.DatabaseError("database disk image is malformed"), MachineFailed, False),
        (HomeError("it is another's"), HomeError, False),
        (Stopped(), Stopped, False),
        (pa.ArrowInvalid("Integer value 300 not in range"), QueryFailed, False),
        (MemoryError(), Unclear, False),
        (KeyError("x"), Unclear, False),
    ],
)
def test_what_python_says(error, kind, again):
    found = failure(error)
    assert type(found) is kind
    assert passes(found) == again
    assert type(pickle.loads(pickle.dumps(found))) is kind  # a task gives it to the driver


def test_an_error_of_the_home_keeps_its_cause_when_patience_ends(monkeypatch):
    monkeypatch.setattr(patience, "PAUSES", (0.0,))
    locked = HomeError("the catalog cannot be used: database is locked")
    locked.__cause__ = cause = sqlite3.OperationalError("database is locked")
    with pytest.raises(HomeError) as raised:
        Patience("an epoch", lambda: False).through(Job(locked, 3))
    assert raised.value is locked
    assert locked.__cause__ is cause


def test_what_the_catalog_says_when_its_disk_is_full():
    error = HomeError("the catalog cannot be used: disk I/O error")
    error.__cause__ = sqlite3.OperationalError("disk I/O error")
    assert passes(failure(error))


class Job:
    """Fails as often as it is told to, each time after a look at what has happened so far."""

    def __init__(self, error, times, before=lambda: None):
        self.error, self.times, self.before, self.attempts = error, times, before, 0

    def __call__(self):
        self.attempts += 1
        self.before()
        if self.attempts <= self.times:
            raise self.error
        return "done"


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(patience, "PAUSES", (0.0, 0.0, 0.0))


def test_what_passes_is_tried_again_and_what_stays_is_told(short):
    job = Job(MachineFailed("a job was cancelled"), 3)
    assert Patience("a batch", lambda: False).through(job) == "done"
    job = Job(MachineFailed("a job was cancelled."), 4)
    told = r"^a batch failed: a job was cancelled \(4 attempts\)\. No query is to blame, and nothing is lost"
    with pytest.raises(MachineFailed, match=told):
        Patience("a batch", lambda: False).through(job)


@pytest.mark.parametrize(
    "error", [MachineFailed("Spark is gone", lasting=True), QueryFailed("x"), HomeError("x")]
)
def test_what_does_not_pass_is_not_tried_again(short, error):
    job = Job(error, 1)
    with pytest.raises(type(error)):
        Patience("a batch", lambda: False).through(job)
    assert job.attempts == 1


@pytest.mark.parametrize("error", [MachineFailed("a job was cancelled"), QueryFailed("interrupted")])
def test_a_batch_that_is_being_stopped_is_given_up_at_once(short, error):
    stopping = []
    job = Job(error, 1, lambda: stopping.append(True))
    with pytest.raises(Stopped):
        Patience("a batch", lambda: bool(stopping)).through(job)
    assert job.attempts == 1


def test_a_pause_ends_when_the_stream_is_stopped(monkeypatch):
    """As with Ctrl-C, which cancels all jobs before it stops streams."""
    monkeypatch.setattr(patience, "PAUSES", (600.0,))
    looks = iter([False, False, True])
    with pytest.raises(Stopped):
        Patience("a batch", lambda: next(looks)).through(Job(MachineFailed("cancelled"), 1))
