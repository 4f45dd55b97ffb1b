"""Statements, run: relations declared, queries bound and kept, all of a text or nothing."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from windrow.cql import Query, parse, positive_duration
from windrow.errors import HomeError, StatementError, WindrowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from windrow.api.registry import Bound, Registry
    from windrow.api.relations import Relations
    from windrow.runtime.spark.analysis import SparkAnalyst


MANY = 1_000
"""From this many statements on, Python collects garbage when all have been run. Parsed statements are trees
that point up and down, which only its full collections free. Of 10,000 queries these took 1.5 to 2.5 s of the
10 s of registering, found nothing, and what was left of the trees cost one of the first epochs 0.7 to 1 s."""


class Executing:
    """Runs statements for an engine."""

    def __init__(self, registry: Registry, relations: Relations, analyst: SparkAnalyst) -> None:
        self._registry = registry
        self._relations = relations
        self._analyst = analyst

    def add_query(
        self, name: str, sql: str, sink: Callable[[int, pa.Table], None] | None, retain: str | None
    ) -> None:
        """Register one SELECT under a name."""
        if not isinstance(sql, str):
            raise WindrowError(f"query '{name}': the second argument is SQL text, not {type(sql).__name__}")
        if sink is not None and not callable(sink):
            raise WindrowError(
                f"query '{name}': a sink is a function of (epoch, answers), not {sink!r}; "
                "for Parquet, write eng.results(name)"
            )
        statements = parse(sql)
        if len(statements) != 1 or not isinstance(statements[0], Query):
            raise StatementError(
                "a query is one SELECT", sql, 0, len(sql), "for several statements: eng.execute(…)"
            )
        statement = replace(statements[0], retain=positive_duration("retain", retain))
        with self._registry.changing:
            self._analyst.look_again()
            self._registry.keep({name.lower(): self._registry.bound(name, statement, sink)})

    def execute(self, statements: str) -> list[str]:
        """Run a text of statements; the names of the queries in it. Nothing is kept if one of them fails."""
        with _collected_at_the_end(many=statements.count(";") >= MANY):
            return self._run(statements)

    def _run(self, statements: str) -> list[str]:
        registry = self._registry
        adding: dict[str, Bound] = {}
        unnamed: list[str] = []
        free_names = (name for name in map("query_{}".format, count(1)) if name not in registry.queries)
        with registry.changing:
            self._analyst.look_again()
            mark = self._relations.mark()
            try:
                for statement in parse(statements):
                    if not isinstance(statement, Query):
                        self._relations.declare(statement)
                        continue
                    if statement.name is None:
                        unnamed.append(next(name for name in free_names if name not in adding))
                    name = statement.name or unnamed[-1]
                    try:
                        adding[name.lower()] = registry.bound(name, statement, None, adding)
                    except HomeError as error:
                        if statement.name is not None:
                            raise
                        raise HomeError(
                            f"{error}\na SELECT without a name is called query_1, query_2, … in the order of "
                            "the statements, and stays in a home; CREATE QUERY name AS SELECT … gives it one"
                        ) from error
                registry.keep(adding)
            except WindrowError:
                self._relations.take_back(mark)
                raise
            registry.unnamed += unnamed
        return [bound.new.name for bound in adding.values()]


@contextmanager
def _collected_at_the_end(*, many: bool) -> Iterator[None]:
    """Let Python collect the garbage of many statements once, at the end."""
    collects = gc.isenabled()
    if not many or not collects:  # whoever has turned it off has reasons
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
