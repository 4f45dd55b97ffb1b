"""Whose fault an error is: a query's, the machine's, or one that nobody can tell at first sight.

- Data (casts, overflow, division), users' functions, declared limits: a `QueryFailed`. The query is
  quarantined.
- Files away, jobs cancelled, executors, Spark or the disk lost: a `MachineFailed`. It is tried again, with
  pauses (`patience.py`), and then the stream stops, blaming nobody.
- Anything else, such as an internal error of Spark's, or no memory: `Unclear`, which is a `QueryFailed` too.
  The query is quarantined only if it fails alone, twice, while everything else goes well.

Spark says what happened by an error condition and its SQLSTATE, or by the Java exceptions that caused one
another. Each is looked at from the outside in, and the first that says enough decides: a value that was
quoted in a message cannot. What Spark 4.3 raises in each case was found out by trying.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

from windrow.errors import HomeError, MachineFailed, QueryFailed, SourceError, WindrowError
from windrow.runtime.home.durable import explained
from windrow.runtime.spark.analysis import SPARK_ERRORS, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

JAVA_GONE = (Py4JError, ConnectionError)
"""What a call of Java's ends in, apart from Java's own errors, when its process has ended."""
ENGINE_ERRORS = (*SPARK_ERRORS, *JAVA_GONE)
"""What a job of Spark's ends in if it fails."""

QUERY_STATES = ("21", "22", "23", "38", "39", "54", "P0")
"""Classes of SQLSTATEs that are about values and functions: cardinality, data, constraints, what users'
functions and `raise_error` raise, limits such as the length of an array."""
QUERY_CLASSES = frozenset(
    {"java.lang.ArithmeticException", "java.lang.NumberFormatException", "java.time.DateTimeException"}
)
UNREADABLE_CONDITIONS = ("FAILED_READ_FILE", "PATH_NOT_FOUND")
OF_ANOTHER_TYPE = "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH"
"""A file that holds something else than was declared, which it will do at the next attempt, too."""
UNREADABLE_CLASSES = frozenset(
    {
        "java.io.FileNotFoundException",
        "java.nio.file.NoSuchFileException",
        "java.nio.file.AccessDeniedException",
    }
)
MACHINE_CONDITIONS = ("SPARK_JOB_CANCELLED",)
MACHINE_CLASSES = frozenset(
    {
        "java.io.InterruptedIOException",
        "java.lang.InterruptedException",
        "java.net.ConnectException",
        "java.net.NoRouteToHostException",
        "java.net.SocketException",
        "java.net.SocketTimeoutException",
        "java.net.UnknownHostException",
        "java.nio.channels.ClosedByInterruptException",
        "org.apache.spark.TaskKilledException",
        "org.apache.spark.shuffle.FetchFailedException",
        "org.apache.spark.shuffle.MetadataFetchFailedException",
    }
)
DISK = re.compile(
    r"No space left on device|Disk quota exceeded|Too many open files|Input/output error|"
    r"Read-only file system|Stale file handle"
)
"""What the operating system says, in an IOException that has no class of its own."""
EXECUTOR_LOST = re.compile(r"\(TID \d+\) \([^)]*\): ExecutorLostFailure ")
SPARK_STOPPED = re.compile(
    r"(Job \d+ cancelled because SparkContext was shut down|Cannot call methods on a stopped SparkContext)"
)
DEEPEST = 20
"""Causes of causes that are looked at."""


INTERRUPTION = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling a stream that is being stopped: "
    "java.lang.InterruptedException"
)


class Unclear(QueryFailed):
    """A query failed, and the error does not say whether that is its own fault."""


class Unreadable(MachineFailed):
    """Files of a source or of a table cannot be read."""


class Stopped(WindrowError):
    """A batch was given up because somebody stopped the stream.

    To Spark it has to look like an interruption, which is known by its text: any other error it prints, with
    its stack. A long text that begins like this one, as of a job that was cancelled, even makes it overflow
    its own stack, in a regular expression.
    """

    def __init__(self, told: str = INTERRUPTION) -> None:
        super().__init__(told)


@dataclass(frozen=True)
class _Thrown:
    """A Java exception."""

    name: str
    """Of its class."""
    condition: str
    """Spark's error condition, such as DIVIDE_BY_ZERO; empty where there is none."""
    state: str
    """The SQLSTATE of the condition."""
    message: str


def failure(error: BaseException) -> WindrowError:
    """The error of ours that an error means, which says whose fault it is.

    >>> failure(OSError(28, "No space left on device"))
    MachineFailed('no space left on device; free some, and start again: nothing is lost')
    >>> failure(ZeroDivisionError("division by zero"))
    QueryFailed('division by zero')
    >>> failure(MemoryError())
    Unclear('MemoryError')
    """
    if isinstance(error, QueryFailed | MachineFailed | HomeError | SourceError | Stopped):
        return error
    if isinstance(error, WindrowError | ArithmeticError | pa.ArrowInvalid):
        return QueryFailed(str(error))
    if isinstance(error, SPARK_ERRORS):
        try:
            return _failure_of_spark(error)
        except JAVA_GONE as gone:  # while it was asked what it meant
            error = gone
    if isinstance(error, JAVA_GONE):
        return MachineFailed(f"the process of Spark is gone ({type(error).__name__})", lasting=True)
    if isinstance(error, OSError | sqlite3.Error):
        damaged = isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.OperationalError)
        return MachineFailed(explained(error), lasting=damaged)
    return Unclear(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def passes(error: WindrowError) -> bool:
    """Whether it may help to try again what failed: the machine did, and perhaps not for long."""
    if isinstance(error, HomeError):
        return isinstance(error.__cause__, sqlite3.OperationalError)
    return isinstance(error, MachineFailed) and not error.lasting


def _failure_of_spark(error: BaseException) -> WindrowError:
    told = reason(error)
    for thrown in _chain(error):
        if thrown.condition.startswith(UNREADABLE_CONDITIONS) or thrown.name in UNREADABLE_CLASSES:
            return Unreadable(told, lasting=thrown.condition == OF_ANOTHER_TYPE)
        if thrown.condition in MACHINE_CONDITIONS or thrown.name in MACHINE_CLASSES:
            return MachineFailed(told)
        if thrown.state.startswith(QUERY_STATES) or thrown.name in QUERY_CLASSES:
            return QueryFailed(told)
        if SPARK_STOPPED.match(thrown.message):
            return MachineFailed("Spark was stopped", lasting=True)
        lost = EXECUTOR_LOST.search(thrown.message)
        if lost is not None:
            return MachineFailed(f"an executor was lost: {thrown.message[lost.end() :].splitlines()[0]}")
        if thrown.name.endswith("IOException") and DISK.search(thrown.message):
            return MachineFailed(told)
    if _is_stopped():  # whatever it says then
        return MachineFailed("Spark was stopped", lasting=True)
    return Unclear(told)


def _is_stopped() -> bool:
    context: Any = SparkContext._active_spark_context
    return context is None or context._jsc is None or bool(context._jsc.sc().isStopped())


def _chain(error: BaseException) -> Iterator[_Thrown]:
    """A Java exception, and those that caused it."""
    throwable: Any = (
        error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    )
    context: Any = SparkContext
    for _ in range(DEEPEST):
        if throwable is None:
            return
        condition = state = None
        if is_instance_of(context._gateway, throwable, "org.apache.spark.SparkThrowable"):
            condition = context._jvm.PythonErrorUtils.getCondition(throwable)
            state = context._jvm.PythonErrorUtils.getSqlState(throwable)
        name, message = throwable.getClass().getName(), throwable.getMessage()
        yield _Thrown(name, condition or "", state or "", message or "")
        throwable = throwable.getCause()
