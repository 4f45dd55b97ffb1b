"""Queries of a home, added, dropped and resumed without Spark, by any process, whether an engine runs there
or not.

    from windrow.api.clients import add_queries, drop_queries, named_query, resume_queries

    add_queries("hot-home", [named_query("daily", "SELECT … FROM readings [RANGE 1 DAY SLIDE 1 HOUR]")])
    resume_queries("hot-home", ["daily"])
    drop_queries("hot-home", ["daily"])

Where an engine runs, it is asked, does it before its next epoch, and answers within about a second
(`runtime/home/requests.py`). Where none runs, a query is dropped, or taken out of quarantine, at once; one to
be added is checked as far as that goes without Spark, and waits for the next engine, which binds it.
"""

from __future__ import annotations

import time
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from sqlglot import exp

from windrow.api.homes import existing
from windrow.cql import Query, parse, parse_duration, window_of
from windrow.errors import StatementError, WindrowError
from windrow.logical import Stream, Table, bind, with_named_queries
from windrow.runtime.home.home import Home
from windrow.runtime.home.lock import HomeInUse, is_held
from windrow.runtime.home.records import Refusal
from windrow.runtime.home.requests import Requests
from windrow.runtime.home.resuming import resume

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    from windrow.logical import Relation
    from windrow.runtime.home.catalog import Catalog


def named_query(name: str, sql: str, retain: str | None = None) -> Query:
    """A query to be added: one SELECT, under a name; `retain` such as "30 days"."""
    statements = parse(sql)
    if len(statements) != 1 or not isinstance(statements[0], Query) or statements[0].name is not None:
        raise StatementError("a query is one SELECT", sql, 0, len(sql), "for CREATE QUERY, use a file")
    if not name.strip():
        raise WindrowError("a query needs a name")
    kept = None if retain is None else parse_duration(retain)
    if kept is not None and kept <= 0:
        raise WindrowError(f"retain must be longer than nothing, not {retain!r}")
    return replace(statements[0], name=name, retain=kept)


def queries_in(text: str) -> list[Query]:
    """The queries of a text of CREATE QUERY statements, and nothing else."""
    queries: dict[str, Query] = {}
    for statement in parse(text):
        place = text, statement.start, statement.end
        if not isinstance(statement, Query):
            hint = "streams and tables are declared in the file that `windrow run` is given"
            raise StatementError("only queries can be added to a home", *place, hint)
        if statement.name is None:
            raise StatementError("a query needs a name", *place, "write CREATE QUERY name AS SELECT …")
        if statement.name.lower() in queries:
            problem = f"there is a query called '{statement.name}' already"
            raise StatementError(problem, text, *statement.name_span, "use another name")
        queries[statement.name.lower()] = statement
    if not queries:
        raise WindrowError("there are no queries in it; such as CREATE QUERY daily AS SELECT …")
    return list(queries.values())


def add_queries(
    home: str | os.PathLike[str],
    queries: Sequence[Query],
    *,
    wait: bool = True,
    clock: Callable[[], float] = time.time,
) -> Literal["added", "asked", "kept"]:
    """Add queries to a home, all or none; raises the reason if the engine that runs there refuses one.

    "added": it has them; "asked": it is about to look (without `wait`); "kept": no engine runs, and the
    next one to run binds them.
    """
    path = existing(home)
    with closing(Home(path)) as opened:
        if not is_held(path):
            _check_all_without_spark(queries, opened.catalog)
        requests = Requests(opened.catalog)
        asked = [(query.name or "", query.select_sql, query.retain) for query in queries]
        numbers = requests.ask_to_add(asked, clock())
        if not wait:
            return "asked" if is_held(path) else "kept"
        answers = requests.wait(numbers, path)
        if answers is None:
            return "kept"
        _raise_refusal(answers, {query.name or "": query for query in queries})
        return "added"


def drop_queries(
    home: str | os.PathLike[str],
    names: Sequence[str],
    *,
    wait: bool = True,
    clock: Callable[[], float] = time.time,
) -> Literal["dropped", "asked"]:
    """Drop queries of a home, all or none: their state and their answers are gone."""
    path = existing(home)
    with closing(Home(path)) as opened:
        requests = Requests(opened.catalog)
        while not _dropped(opened, requests, names, clock()):  # an engine runs, or somebody else drops
            numbers = requests.ask_to_drop(names, clock())
            if not numbers:
                return "dropped"
            if not wait:
                return "asked"
            answers = requests.wait(numbers, path)
            if answers is not None:
                _raise_refusal(answers, {})
                return "dropped"
            requests.take_back(numbers)
        return "dropped"


def resume_queries(
    home: str | os.PathLike[str],
    names: Sequence[str],
    *,
    wait: bool = True,
    clock: Callable[[], float] = time.time,
) -> Literal["resumed", "asked"]:
    """Take queries of a home out of quarantine, all or none; raises the reason if one cannot be."""
    path = existing(home)
    with closing(Home(path)) as opened:
        requests = Requests(opened.catalog)
        while not _here_and_now(opened, lambda database: resume(opened, database, names, clock())):
            numbers = requests.ask_to_resume(names, clock())
            if not wait:
                return "asked"
            answers = requests.wait(numbers, path)
            if answers is not None:
                _raise_refusal(answers, {})
                return "resumed"
            requests.take_back(numbers)
        return "resumed"


def _dropped(home: Home, requests: Requests, names: Sequence[str], clock: float) -> bool:
    """Drop queries here and now; False if the home is in use."""

    def drop(database: sqlite3.Connection) -> None:
        known = [home.catalog.query(name) for name in requests.withdraw(database, names)]
        home.forget_queries(database, [query for query in known if query is not None], clock)

    return _here_and_now(home, drop)


def _here_and_now(home: Home, change: Callable[[sqlite3.Connection], object]) -> bool:
    """Change a home that no engine runs on, by a transaction; False if it is in use."""
    try:
        with home.changing() as database:
            change(database)
    except HomeInUse:
        return False
    return True


def _raise_refusal(answers: Mapping[str, Refusal | None], queries: Mapping[str, Query]) -> None:
    for name, refusal in answers.items():
        if refusal is not None and not refusal.companion:
            query = queries.get(name)
            if query is None:
                raise refusal.error("")
            raise refusal.error(query.text, query.end - len(query.select_sql))
    for name in queries:
        if name not in answers:
            raise WindrowError(f"query '{name}' was dropped by somebody before the engine added it")


class _AskSpark(Exception):
    """Only Spark knows."""


class _WithoutSpark:
    """Knows nothing of types and functions."""

    def describe(
        self, sql: str, relations: Mapping[str, Mapping[str, pa.DataType]], *, lasting: bool = True
    ) -> pa.Schema:
        """Spark's to say."""
        raise _AskSpark

    def functions(self) -> frozenset[str]:
        """Spark's to say."""
        raise _AskSpark


def _check_all_without_spark(queries: Sequence[Query], catalog: Catalog) -> None:
    """Raise what is wrong with queries, as far as a home alone can tell; one may select from another."""
    known = _relations(catalog)
    earlier: dict[str, str] = {}

    def statement_of(name: str) -> str | None:
        stored = catalog.query(name)
        return earlier.get(name.lower()) if stored is None else stored.sql

    for query in queries:
        whole = with_named_queries(query, known, statement_of)
        _check_without_spark(whole, known)
        earlier[(query.name or "").lower()] = whole.select_sql


def _check_without_spark(query: Query, known: Mapping[str, Relation]) -> None:
    """Raise what is wrong with a query as far as a home alone can tell: its stream, and its columns.

    A table that the home does not know may be a DataFrame of the next engine's.
    """
    tables = list(query.select.find_all(exp.Table))
    named = {cte.alias.lower() for cte in query.select.find_all(exp.CTE)}
    used = {table.name.lower() for table in tables} - named
    streams = {table.name.lower() for table in tables if window_of(table) is not None} - named
    clause = query.select.args.get("from_") or query.select.args.get("from")
    if clause is not None and isinstance(clause.this, exp.Table):  # it may have no window
        streams |= {clause.this.name.lower()} - named
    if not streams <= known.keys() or (used <= known.keys() and all(known[name].columns for name in used)):
        with suppress(_AskSpark):
            bind(query, {relation.name: relation for relation in known.values()}, _WithoutSpark())


def _relations(catalog: Catalog) -> dict[str, Relation]:
    """The relations that the home remembers: the names of their columns, not the types."""
    known: dict[str, Relation] = {}
    for stored in catalog.definitions():
        columns = dict.fromkeys(stored.definition.get("types", {}), pa.null())
        if stored.kind == "table":
            known[stored.name.lower()] = Table(stored.name, columns)
        else:
            timestamp = stored.definition.get("timestamp", "")
            times = {timestamp: pa.timestamp("us", "UTC")} if columns else {}
            known[stored.name.lower()] = Stream(stored.name, columns | times, timestamp)
    return known
