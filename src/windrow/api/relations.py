"""The streams and tables that an engine knows: declared, checked, remembered in the home, opened."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow.types as pat
from pyspark.sql import DataFrame

from windrow.cql import CreateStream, CreateTable
from windrow.errors import HomeError, SourceError, StatementError, TimestampError, WindrowError, suggestion
from windrow.logical import Stream, Table
from windrow.runtime.home.lock import holding
from windrow.runtime.home.records import Progress
from windrow.runtime.spark.analysis import SPARK_ERRORS, arrow_schema, reason
from windrow.runtime.spark.columns_by_name import ColumnsByName
from windrow.runtime.spark.session import ZONE, in_zone, same_zone, zone_of
from windrow.runtime.spark.sources import FileSource, check_path

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from windrow.logical import Relation
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import StoredRelation

    Source = DataFrame | FileSource


def open_source(
    name: str,
    source: DataFrame | str | os.PathLike[str],
    format: str,
    schema: str | None,
    options: Mapping[str, str] | None,
) -> Source:
    """What a caller gave as the source of a relation: a DataFrame, or files."""
    if isinstance(source, DataFrame):
        return source
    if not hasattr(source, "__fspath__") and not isinstance(source, str):
        raise SourceError(f"'{name}': a source is a Spark DataFrame or a path, not {type(source).__name__}")
    return FileSource(str(source), format, schema, dict(options or {}))


class Relations:
    """Relations by name (in any case), and where their rows come from."""

    def __init__(self, spark: SparkSession, home: Home) -> None:
        # Replaced, never changed: threads that read streams look them up while others are declared.
        self.known: dict[str, Relation] = {}
        self._sources: dict[str, Source] = {}
        self._frames: dict[str, DataFrame] = {}
        # What this engine changed in the home: names, kinds, and definitions before.
        self._new: list[tuple[str, str, dict[str, Any] | None]] = []
        self._spark = spark
        self._home = home

    # declaring

    def declare(self, statement: CreateStream | CreateTable) -> None:
        """Declare what a statement says; errors show their place in it."""
        columns = ", ".join(f"`{name}` {of_type}" for name, of_type in statement.columns or ()) or None
        source = FileSource(statement.path, statement.format, columns, statement.options)
        try:
            if isinstance(statement, CreateTable):
                self.declare_table(statement.name, source)
                return
            self.declare_stream(
                statement.name,
                source,
                statement.timestamp,
                delay=statement.delay,
                skew=statement.skew,
                idle_timeout=statement.idle_timeout,
                retain=statement.retain,
                max_dead=statement.max_dead,
            )
        except SourceError as error:
            raise StatementError(str(error), statement.text, *statement.path_span) from error
        except TimestampError as error:
            assert isinstance(statement, CreateStream)
            place = statement.timestamp_span
            raise StatementError(error.problem, statement.text, *place, error.hint) from error

    def declare_stream(
        self,
        name: str,
        source: Source,
        timestamp: str,
        *,
        delay: int,
        skew: int | None = None,
        idle_timeout: int | None = None,
        retain: int | None = None,
        max_dead: int | None = None,
        recalled: bool = False,
    ) -> None:
        """Declare a stream; durations in microseconds. `recalled`: as the home remembers it."""
        self._check_free(name)
        if not recalled:
            source = self._as_known(name, source)
        columns = self._columns(source)
        spelled = next((column for column in columns if column.lower() == timestamp.lower()), None)
        if spelled is None:
            hint = suggestion(timestamp, columns) or f"the columns are {', '.join(columns)}"
            raise TimestampError(f"stream '{name}' has no column '{timestamp}' for its event time", hint)
        if not pat.is_timestamp(columns[spelled]):
            raise TimestampError(
                f"column '{spelled}' of '{name}' is {columns[spelled]}; event time must be a TIMESTAMP",
                "convert it, for example with to_timestamp() or timestamp_seconds()",
            )
        if self._home.catalog.progress(name).batch < 0:
            self._check_first_header(name, source, columns)
        text = isinstance(source, FileSource) and source.format != "parquet"
        zone = source.zone if isinstance(source, FileSource) else zone_of(source.sparkSession)
        stream = Stream(name, columns, spelled, delay, skew, idle_timeout, retain, max_dead, text, zone)
        clauses = ("timestamp", "delay", "skew", "idle_timeout", "retain", "max_dead")
        self._add(stream, source, "stream", {clause: getattr(stream, clause) for clause in clauses})

    def declare_table(self, name: str, source: Source, *, recalled: bool = False) -> None:
        """Declare a table. `recalled`: as the home remembers it."""
        self._check_free(name)
        if isinstance(source, DataFrame) and source.isStreaming:
            raise SourceError(f"table '{name}' cannot come from a streaming DataFrame; declare a stream")
        if not recalled:
            source = self._as_known(name, source)
        columns = self._columns(source)
        self._check_first_header(name, source, columns)
        self._add(Table(name, columns), source, "table", {})

    def recall(self, name: str) -> None:
        """Declare a relation as the home remembers it, unless it is declared, or unknown there."""
        found = self._home.catalog.definition(name)
        if found is None or found.definition["path"] is None or self._spelled(name) is not None:
            return
        given = found.definition
        settled = {key: given[key] for key in ("by_name", "zone") if key in given}
        source = FileSource(given["path"], given["format"], given["columns"], given["options"], **settled)
        if found.kind == "table":
            self.declare_table(found.name, source, recalled=True)
        else:
            others = ("delay", "skew", "idle_timeout", "retain", "max_dead")
            clauses = {key: given[key] for key in others if key in given}
            self.declare_stream(found.name, source, given["timestamp"], **clauses, recalled=True)

    def mark(self) -> tuple[set[str], int]:
        """What is declared now, for `take_back`."""
        return set(self.known), len(self._new)

    def take_back(self, mark: tuple[set[str], int]) -> None:
        """Forget what was declared since a mark."""
        names, new = mark
        for name, kind, before in reversed(self._new[new:]):
            if before is None:
                self._home.define(name, kind, None)
            else:
                self._home.define(name, kind, before)
        del self._new[new:]
        self.known = {name: relation for name, relation in self.known.items() if name in names}
        self._sources = {name: source for name, source in self._sources.items() if name in names}

    # using

    def recalled(self, name: str) -> Relation | None:
        """A relation by its name, declared here or known to the home; None if it is neither."""
        self.recall(name)
        return self.known.get(self._spelled(name) or "")

    def known_stream(self, name: str) -> Stream | None:
        """A stream by its name, if it is declared."""
        relation = self.known.get(self._spelled(name) or "")
        return relation if isinstance(relation, Stream) else None

    def stream(self, name: str) -> Stream:
        """A stream by its name."""
        relation = self.known_stream(name)
        if relation is None:
            streams = [n for n, r in self.known.items() if isinstance(r, Stream)]
            streams += [n for n in self._home.catalog.streams() if n not in streams]
            hint = suggestion(name, streams) or f"there are: {', '.join(streams) or 'none'}"
            raise WindrowError(f"there is no stream '{name}'; {hint}")
        return relation

    def is_unbounded(self, name: str) -> bool:
        """Whether more rows may come: files and streaming DataFrames, as far as they are declared."""
        source = self._sources.get(self._spelled(name) or "")
        return isinstance(source, FileSource) or (source is not None and source.isStreaming)

    def file_source(self, name: str) -> FileSource | None:
        """The files that a stream comes from; None if it is a DataFrame."""
        source = self._sources[name]
        return source if isinstance(source, FileSource) else None

    def frame(self, name: str) -> DataFrame:
        """The rows that are there."""
        source, relation = self._sources[name], self.known[name]
        if isinstance(source, DataFrame):
            if isinstance(relation, Stream):
                self._check_zone(name, source, relation.zone)
            return source
        if name not in self._frames:
            named = ColumnsByName(name, source, self._spark) if source.by_name else None
            self._frames[name] = source.read(self._spark) if named is None else named.table()
        return self._frames[name]

    def read_stream(self, name: str) -> DataFrame:
        """The rows that are there and those that come, in a session that has the stream's time zone."""
        source, zone = self._sources[name], self.stream(name).zone
        if isinstance(source, DataFrame):
            self._check_zone(name, source, zone)
            return source
        return source.read_stream(in_zone(self._spark, zone))

    def _add(self, relation: Relation, source: Source, kind: str, extra: dict[str, Any]) -> None:
        types = {name: str(of_type) for name, of_type in relation.columns.items()}
        if isinstance(source, FileSource):
            self._remember(relation.name, kind, source.definition() | extra | {"types": types})
        elif kind == "stream":  # so that another one under its name does not go on with its numbers
            what = "streaming DataFrame" if source.isStreaming else "static DataFrame"
            named: dict[str, Any] = {"path": None, "format": what, "columns": None, "options": {}}
            named["types"] = types if source.isStreaming else {}
            named["zone"] = zone_of(source.sparkSession)
            self._remember(relation.name, kind, named | extra)
        self.known = self.known | {relation.name: relation}
        self._sources = self._sources | {relation.name: source}

    def _remember(self, name: str, kind: str, definition: dict[str, Any]) -> None:
        """Keep a definition in the home. What has been read may grow and be tuned, but not become another."""
        found = self._home.catalog.definition(name)
        before = None if found is None else found.definition
        if found is not None and before is not None and not self._begins_anew(found, kind, definition):
            check_growth(found.name, before, definition)
            if found.kind != kind or _identity(before) != _identity(definition):
                there, here = _difference({"kind": found.kind} | before, {"kind": kind} | definition)
                raise HomeError(
                    f"{found.kind} '{found.name}' is defined otherwise in this home:\n"
                    f"  there: {json.dumps(there, sort_keys=True)}\n"
                    f"  here:  {json.dumps(here, sort_keys=True)}\n"
                    "use another name, or another home"
                )
        if before != definition:
            self._home.define(name, kind, definition)
            self._new.append((name, kind, before))

    def _begins_anew(self, found: StoredRelation, kind: str, definition: dict[str, Any]) -> bool:
        """Whether this is another definition of a stream of which nothing has been committed.

        Nothing depends on the one before, then. What Spark has planned by it is forgotten: a batch of other
        files, perhaps, or of another kind of source.
        """
        name, before = found.name, found.definition
        same = _identity(before) == _identity(definition) and all(
            before.get(key) == definition[key] for key in ("columns", "types")
        )
        if same or not found.kind == kind == "stream" or self._home.catalog.progress(name) != Progress():
            return False
        # Another engine that runs would lose what it reads by; this one does not read the stream yet.
        with nullcontext() if self._home.is_ours else holding(self._home.path):
            if self._home.catalog.progress(name) != Progress():  # it has been quicker
                return False
            shutil.rmtree(self._home.checkpoint(name), ignore_errors=True)
        return True

    def _as_known(self, name: str, source: Source) -> Source:
        """A source with what is settled when it is first declared in a home: how the columns of its files are
        found, and its time zone. A DataFrame has the zone of its session, and must go on with that."""
        found = self._home.catalog.definition(name)
        known = {} if found is None else found.definition
        if isinstance(source, DataFrame):
            self._check_zone(name, source, known.get("zone"))
            return source
        is_new = found is None or (
            found.kind == "stream" and self._home.catalog.progress(name) == Progress()
        )  # nothing of it is committed
        by_name = source.has_names if is_new else bool(known.get("by_name"))
        return replace(source, by_name=by_name, zone=known.get("zone", zone_of(self._spark)))

    def _check_zone(self, name: str, frame: DataFrame, zone: str | None) -> None:
        """What a DataFrame computes was settled in the zone of its session; its stream has no other."""
        session = zone_of(frame.sparkSession)
        if zone is not None and not same_zone(self._spark, zone, session):
            raise SourceError(
                f"stream '{name}' is in the time zone {zone} and the session of its DataFrame in {session}: "
                "timestamps would mean other instants, and hours and days be others. Make the DataFrame "
                f'after spark.conf.set("{ZONE}", "{zone}"), or use another name, or another home'
            )

    def _check_first_header(self, name: str, source: Source, columns: Iterable[str]) -> None:
        """Declared columns that a CSV file does not have are better known of now than when it is read."""
        if isinstance(source, FileSource) and source.by_name and source.columns is not None:
            ColumnsByName(name, source, self._spark).check_first(columns)

    def _columns(self, source: Source) -> dict[str, pa.DataType]:
        if isinstance(source, FileSource):
            check_path(source.path)
        try:
            schema = arrow_schema(
                source.schema if isinstance(source, DataFrame) else source.schema(self._spark)
            )
        except SPARK_ERRORS as error:
            raise SourceError(reason(error)) from error
        return dict(zip(schema.names, schema.types, strict=True))

    def _check_free(self, name: str) -> None:
        taken = self._spelled(name)
        if taken is not None:
            kind = "stream" if isinstance(self.known[taken], Stream) else "table"
            raise WindrowError(f"there is a {kind} called '{taken}' already; use another name")

    def _spelled(self, name: str) -> str | None:
        return next((known for known in self.known if known.lower() == name.lower()), None)


TUNABLE = frozenset({"idle_timeout", "retain", "max_dead", "types", "columns", "zone"})
TUNABLE_OPTIONS = frozenset({"maxfilespertrigger", "maxbytespertrigger", "maxfileage", "cleansource"})


def _identity(definition: dict[str, Any]) -> dict[str, Any]:
    """The part of a definition that a home holds on to."""
    options = {k: v for k, v in definition["options"].items() if k.lower() not in TUNABLE_OPTIONS}
    return {key: value for key, value in definition.items() if key not in TUNABLE} | {"options": options}


def _difference(there: dict[str, Any], here: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What two definitions do not have in common, of the parts that a home holds on to."""
    there, here = _identity(there), _identity(here)
    keys = [key for key in there | here if there.get(key) != here.get(key)]
    return {key: there.get(key) for key in keys}, {key: here.get(key) for key in keys}


def check_growth(name: str, before: dict[str, Any], now: dict[str, Any]) -> None:
    """A source may gain columns; those it had must stay what they were."""
    for column, was in before.get("types", {}).items():
        found = now["types"].get(column)
        if found is None:
            raise SourceError(
                f"column '{column}' of '{name}' is gone; the home knows it as {was}. Put it back, or use "
                "another home"
            )
        if found != was:
            raise SourceError(
                f"column '{column}' of '{name}' is now {found}; the home knows it as {was}, and what has "
                "been computed so far is of that type. Convert it at the source, or use another home"
            )
    listed, then = now["columns"] or "", before["columns"] or ""
    in_order = now["format"] == "csv" and not now.get("by_name")
    if in_order and listed != then and not listed.startswith(f"{then}, "):
        raise SourceError(
            f"the columns of '{name}' are in another order than the home knows them in: in a CSV file the "
            "order counts, so new ones are declared at the end"
        )
