"""Spark as the judge of expressions and types: it analyses statements over empty relations."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from hashlib import sha256
from threading import RLock
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import convert_exception
from pyspark.logger import PySparkLogger
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from windrow.errors import StatementError
from windrow.logical import view_name
from windrow.runtime.home.catalog import FORMAT
from windrow.runtime.spark.changing_values import ChangingValues

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from windrow.runtime.home.catalog import Catalog

SPARK_ERRORS = (PySparkException, Py4JJavaError)
"""What Spark raises; the second kind where a query runs inside foreachBatch."""

CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\]\s*")
SQL_SETTING = re.compile(r"spark\.sql\.(?!warehouse|streaming)[^=]+=.*?(?=, [\w.-]+=|}$)", re.DOTALL)
"""A setting of the session that may matter to types, in the text of them all."""
END_OF_REASON = re.compile(
    r"; line \d+ pos|SQLSTATE|\n\tat |\n==|;\n|\n+Driver stacktrace|\n\nJVM stacktrace"
    r"| It is possible the underlying files have been updated"
)
"""Where a message of Spark's stops to be for people. What it advises where a file is away (REFRESH TABLE) is
for those who have the DataFrame in hand."""
WRITE_MICROSECONDS = 'df.to_parquet(path, coerce_timestamps="us") writes them so that Spark reads them'
ADVICE = {
    r"TIMESTAMP\(NANOS": f"pandas writes timestamps in nanoseconds; {WRITE_MICROSECONDS}.",
    r"Expected Spark type timestamp\w*, actual Parquet type INT64": "If these are timestamps in nanoseconds, "
    f"as pandas writes them: {WRITE_MICROSECONDS}. If they are numbers, declare the column as BIGINT.",
}
"""What to do about some of Spark's complaints, by a pattern in them."""
VIEWS = RLock()
"""Held while temporary views have Windrow's names; analysis is immediate, so the names can be reused."""


class SparkAnalyst:
    """Answers the questions that binding has, from a Spark session."""

    def __init__(self, spark: SparkSession, catalog: Catalog | None = None) -> None:
        self._spark = spark
        self._catalog = catalog
        self._changing_values = ChangingValues(spark)
        self._functions: frozenset[str] | None = None
        self._frames: dict[pa.Schema, DataFrame] = {}
        self._settings: tuple[str, ...] | None = None

    def describe(
        self, sql: str, relations: Mapping[str, Mapping[str, pa.DataType]], *, lasting: bool = True
    ) -> pa.Schema:
        """The schema of a SELECT; a StatementError carries Spark's reason, without its plan, or says what
        changes by itself.

        With a catalog, an answer that lasts is remembered: a restart need not ask again, which takes a
        Spark that has just started a second for the first query alone.
        """
        if self._catalog is None or not lasting:
            return self._ask(sql, relations)
        question = self._question(sql, relations)
        schema = self._catalog.described(question)
        if schema is None:
            schema = self._ask(sql, relations)
            self._catalog.note_described(question, schema)
        return schema

    def look_again(self) -> None:
        """The session's settings may be other ones than at the last question."""
        self._settings = None

    def _ask(self, sql: str, relations: Mapping[str, Mapping[str, pa.DataType]]) -> pa.Schema:
        frames = {name: self._empty(pa.schema(list(columns.items()))) for name, columns in relations.items()}
        try:
            with quiet():
                answer = select(self._spark, sql, frames)
                self._changing_values.refuse(answer)
                return arrow_schema(answer.schema)
        except SPARK_ERRORS as error:
            raise StatementError(reason(error)) from error

    @property
    def settings(self) -> tuple[str, ...]:
        """All of Spark that may matter to the meaning of a statement, or to types in it: its version, and the
        session's settings for SQL, as they were at the first question since `look_again`."""
        if self._settings is None:
            # As Java writes them, by one call. With Python's str(), which makes a call a setting, the
            # pattern took in the rest of them as well, and with it the time at which Spark was started.
            text = self._spark._jsparkSession.sessionState().conf().settings().toString()
            ansi = self._spark.conf.get("spark.sql.ansi.enabled")  # whose default is in the environment
            self._settings = (self._spark.version, str(ansi), *sorted(SQL_SETTING.findall(text)))
        return self._settings

    def _question(self, sql: str, relations: Mapping[str, Mapping[str, pa.DataType]]) -> str:
        """A name for all that Spark's answer depends on: the statement, the columns, version and settings."""
        columns = {name: [(c, str(of_type)) for c, of_type in of.items()] for name, of in relations.items()}
        asked = (FORMAT, self.settings, sql, sorted(columns.items()))
        return sha256(repr(asked).encode()).hexdigest()

    def _empty(self, schema: pa.Schema) -> DataFrame:
        if schema not in self._frames:
            self._frames[schema] = self._spark.createDataFrame([], from_arrow_schema(schema))
        return self._frames[schema]

    def functions(self) -> frozenset[str]:
        """Every function that Spark knows, asked for once."""
        if self._functions is None:
            rows = self._spark.sql("SHOW FUNCTIONS").collect()
            self._functions = frozenset(row[0].rpartition(".")[2].lower() for row in rows)
        return self._functions


def select(spark: SparkSession, sql: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """A SELECT over frames, known to it by their `view_name`s."""
    with VIEWS:
        views = {name: view_name(name).strip("`") for name in frames}
        try:
            for name, frame in frames.items():
                _in_session(spark, frame, views[name]).createOrReplaceTempView(f"`{views[name]}`")
            return spark.sql(sql)
        finally:
            for view in views.values():
                spark.catalog.dropTempView(view)


def _in_session(spark: SparkSession, frame: DataFrame, name: str) -> DataFrame:
    """The frame as one of this session: a stream's batches live in a clone of the session that tables
    are read in, and only a global view is seen by both."""
    if frame.sparkSession._jsparkSession.equals(spark._jsparkSession):
        return frame
    frame.createOrReplaceGlobalTempView(f"`{name}`")
    try:
        return spark.table(f"global_temp.`{name}`")
    finally:
        spark.catalog.dropGlobalTempView(name)


PAGES = PySparkLogger.getLogger("SQLQueryContextLogger")
"""Where PySpark logs them. Made here, before threads could: PySpark changes the class of all loggers
meanwhile, and one of another class cannot take what PySpark writes to it."""


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PySpark from logging an error that becomes one of ours: it prints a page of JSON."""
    before, PAGES.disabled = PAGES.disabled, True
    try:
        yield
    finally:
        PAGES.disabled = before


def arrow_schema(schema: StructType) -> pa.Schema:
    """Spark's types as Arrow's; TIMESTAMP is UTC whatever the session's time zone."""
    return pa.schema([pa.field(f.name, to_arrow_type(f.dataType, timezone="UTC")) for f in schema.fields])


def reason(error: BaseException) -> str:
    """What Spark complains about, in a line: without error class, plan and stack.

    >>> reason(ValueError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\\n== SQL ==\\nSELECT"))
    'Division by zero.'
    """
    if isinstance(error, Py4JJavaError):  # what a Spark error is inside foreachBatch
        error = convert_exception(error.java_exception)
    chain = [str(error)]
    while (cause := getattr(error, "_cause", None)) is not None:
        error = cause
        chain.append(str(error))
    if any("No module named 'windrow'" in text for text in chain):
        return workers_without_windrow()
    told = [text for text in chain if CONDITION.search(text)]
    told = told or [text for text in chain if "Exception thrown in awaitResult" not in text][:1] or chain[:1]
    told = list(dict.fromkeys(map(_brief, told)))
    if any("[FAILED_READ_FILE.NO_HINT]" in text for text in chain):
        # A file that cannot be read says where; its cause says what is wrong with it.
        told = [" ".join([*told, _brief(chain[-1])][:2])]
    advice = [advised for pattern, advised in ADVICE.items() if re.search(pattern, told[0])]
    return " ".join([told[0], *advice])


def workers_without_windrow() -> str:
    """What to say when Spark's tasks cannot import Windrow: a session that the user started may run them by
    whichever Python comes first."""
    return (
        "Spark's Python workers run a Python that has no Windrow. Before Spark starts, set PYSPARK_PYTHON "
        f"(or spark.pyspark.python) to one that has, on every machine; here that is {sys.executable}"
    )


def _brief(text: str) -> str:
    condition = CONDITION.search(text)
    if condition is not None:
        text = text[condition.end() :]
    return END_OF_REASON.split(text)[0].replace("_windrow_", "").strip()
