"""The queries of an engine: bound, kept in the home, taken up from it, and changed as others ask."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.api.clients import drop_queries, resume_queries
from windrow.cql import Query, parse
from windrow.errors import HomeError, StatementError, WindrowError
from windrow.logical import PlanRecords, bind, surroundings, with_named_queries
from windrow.runtime.home.lock import HomeInUse
from windrow.runtime.home.records import NewQuery
from windrow.runtime.home.requests import Requests, Withdrawn
from windrow.runtime.home.results import result_schema
from windrow.runtime.home.resuming import resume
from windrow.runtime.logs import event
from windrow.runtime.state.queries import RunningQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from windrow.api.own_functions import OwnFunctions
    from windrow.api.relations import Relations
    from windrow.logical import BoundQuery, Relation
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import Request, StoredQuery
    from windrow.runtime.spark.analysis import SparkAnalyst


@dataclass(frozen=True)
class Bound:
    """A query that has been bound, now or by an earlier engine, and is not yet added."""

    new: NewQuery
    statement: Query
    plan: BoundQuery
    sink: Callable[[int, pa.Table], None] | None
    is_kept: bool
    """Whether the home has its plan, as a record that still holds."""


class Registry:
    """Which queries run. Whoever changes that holds `changing`."""

    def __init__(
        self,
        home: Home,
        relations: Relations,
        analyst: SparkAnalyst,
        functions: OwnFunctions,
        clock: Callable[[], float],
    ) -> None:
        self.queries: dict[str, RunningQuery] = {}
        """By their names in lower case. Replaced, never changed: threads that run epochs look at it too."""
        self.unnamed: list[str] = []
        """The names of those that came as a bare SELECT."""
        self.changing = RLock()
        self._home = home
        self._relations = relations
        self._analyst = analyst
        self._functions = functions
        self._clock = clock
        self._requests = Requests(home.catalog)
        self._reader: tuple[Mapping[str, Relation], str, PlanRecords] | None = None

    def resume(self) -> None:
        """Take up the queries that the home has and this engine has not been told of.

        A query stays until it is dropped: if its stream went on without it, its answers would have a hole.
        """
        with self.changing:
            self._analyst.look_again()
            stored_queries = self._home.catalog.queries()
            self._follow_resumed(stored_queries)
            known_ids = {stored.id for stored in stored_queries}  # without those that somebody dropped
            self.let_go({query.stored.id for query in self.queries.values()} - known_ids)
            taken_up: dict[str, RunningQuery] = {}
            missing = [s for s in stored_queries if not s.sealed and s.name.lower() not in self.queries]
            records = self._records()
            written = self._home.catalog.bound_records() if missing else {}
            bound_again: dict[int, str] = {}
            for stored in missing:
                try:
                    for stream in stored.streams:
                        self._relations.recall(stream)
                    if not all(map(self._relations.is_unbounded, stored.streams)):
                        continue  # a frame that can be read again, or one that this engine does not have
                    plan = _plan_in(records, stored, written.get(stored.id))
                    if plan is None:
                        bound = self.bound(stored.name, select(stored.sql, stored.retain), None)
                        plan = bound.plan
                        if bound.new.schema != stored.schema:  # its stream was declared anew
                            with suppress(HomeInUse), self._home.changing() as database:
                                (stored,) = self._home.catalog.insert_queries(database, [bound.new])
                        record = records.write(bound.statement, plan)
                        bound_again |= {} if record is None else {stored.id: record}
                    taken_up[stored.name.lower()] = RunningQuery(stored, plan)
                except WindrowError as error:
                    raise HomeError(
                        f"this home also has query '{stored.name}', which cannot go on: {error}\n"
                        f"declare what it needs, or drop it with eng.drop('{stored.name}')"
                    ) from error
            if bound_again:
                with suppress(HomeInUse), self._home.changing() as database:
                    self._home.catalog.write_bound(database, bound_again)
            self._home.catalog.keep_described()
            self.queries = self.queries | taken_up

    def bound(
        self,
        name: str,
        statement: Query,
        sink: Callable[[int, pa.Table], None] | None,
        adding: Mapping[str, Bound] | None = None,
    ) -> Bound:
        """A query that could be added, also with those that are being added; nothing is kept yet.

        One that the home has, with the same text, is bound only if what the home has of its plan no longer
        holds, and then to the columns that its results have: a star in it does not grow.
        """
        known, before = self.queries.get(name.lower()), (adding or {}).get(name.lower())
        taken = known.stored if known is not None else before.new if before is not None else None
        if taken is not None:
            raise StatementError(
                f"there is a query called '{taken.name}' already",
                statement.text,
                *statement.name_span,
                "use another name, or drop it",
            )
        catalog = self._home.catalog
        stored = catalog.query(name)
        if stored is None or stored.sql != statement.select_sql:
            statement = self._with_named_queries(statement, adding or {})
            if stored is not None and stored.sql != statement.select_sql:
                stored = None  # a query of another text, which is refused below
        plan = None if stored is None else _plan_in(self._records(), stored, catalog.bound_record(stored.id))
        is_kept = plan is not None
        if plan is None:
            for table in statement.select.find_all(exp.Table):
                self._relations.recall(table.name)
            had = [] if stored is None else stored.schema.names
            relations, functions = self._relations.known, self._functions.known
            plan = bind(statement, relations, self._analyst, functions, had, self.queries)
        new = NewQuery(name, statement.select_sql, plan.streams, result_schema(plan), statement.retain)
        is_new = not is_kept and catalog.same_query(new) is None
        sealed = [s for s in plan.streams if self._relations.is_unbounded(s) and catalog.progress(s).sealed]
        if is_new and len(sealed) == len(plan.streams):
            raise WindrowError(
                f"stream '{sealed[0]}' is sealed in this home: a new query would see no rows, and a "
                "seal is not taken back; use another home, and run there without seal=True (--seal)"
            )
        return Bound(new, statement, plan, sink, is_kept)

    def _with_named_queries(self, statement: Query, adding: Mapping[str, Bound]) -> Query:
        """A statement with those of the queries that it selects from, wherever these are kept, or added with
        it."""

        def statement_of(name: str) -> str | None:
            if (before := adding.get(name.lower())) is not None:
                return before.new.sql
            stored = self._home.catalog.query(name)
            return None if stored is None else stored.sql

        for table in statement.select.find_all(exp.Table):
            if table.name not in self._relations.known:
                self._relations.recall(table.name)
        return with_named_queries(statement, self._relations.known, statement_of)

    def _records(self) -> PlanRecords:
        """What reads and writes bound plans; the same one as long as relations and Spark's settings stay,
        since it remembers what plans have in common."""
        known, settings = self._relations.known, surroundings(self._analyst.settings)
        if self._reader is None or self._reader[0] is not known or self._reader[1] != settings:
            self._reader = known, settings, PlanRecords(self._relations.recalled, settings)
        return self._reader[2]

    def keep(self, adding: Mapping[str, Bound], answering: list[Request] | None = None) -> None:
        """Add bound queries, by one transaction, which also answers the requests for them.

        Where another engine runs on the home, it is asked to add them.
        """
        if not adding:
            return
        new = [bound.new for bound in adding.values()]
        records = self._records()
        written = [
            None if bound.is_kept else records.write(bound.statement, bound.plan) for bound in adding.values()
        ]
        stored: list[StoredQuery] | None = None
        while stored is None:
            try:
                with self._home.changing() as database:
                    stored = self._home.catalog.insert_queries(database, new)
                    known = zip((query.id for query in stored), written, strict=True)
                    self._home.catalog.write_bound(database, {n: r for n, r in known if r is not None})
                    if answering:
                        Requests.accept(database, answering)
            except HomeInUse:
                stored = self._added_elsewhere(adding)
        self.queries = self.queries | {
            name: RunningQuery(query, bound.plan, bound.sink)
            for query, (name, bound) in zip(stored, adding.items(), strict=True)
        }

    def _added_elsewhere(self, adding: Mapping[str, Bound]) -> list[StoredQuery] | None:
        """The queries as the engine that runs on the home has added them; None if it stopped before."""
        catalog = self._home.catalog
        for bound in adding.values():
            if bound.sink is not None:
                raise HomeError(
                    f"another engine is running on {self._home.path}: a sink of '{bound.new.name}' would get "
                    "nothing here; register it where the engine runs, or stop that one first"
                )
        missing = [bound.new for bound in adding.values() if catalog.same_query(bound.new) is None]
        if missing:
            asked = [(new.name, new.sql, new.retain) for new in missing]
            numbers = self._requests.ask_to_add(asked, self._clock())
            answers = self._requests.wait(numbers, self._home.path)
            if answers is None:
                self._requests.take_back(numbers)
                return None
            for new in missing:
                refusal = answers.get(new.name)
                if refusal is not None and not refusal.companion:
                    raise refusal.error(new.sql)
        found = [catalog.query(bound.new.name) for bound in adding.values()]
        return [query for query in found if query is not None] if None not in found else None

    def drop(self, stored: StoredQuery) -> None:
        """Drop a query; where another engine runs on the home, it is asked to."""
        try:
            self._home.drop_query(stored, self._clock())
        except HomeInUse:
            drop_queries(self._home.path, [stored.name], clock=self._clock)
        self.let_go({stored.id})

    def let_go(self, ids: set[int]) -> None:
        """Run queries no longer; an epoch that is under way still has them."""
        if ids:
            self.queries = {n: query for n, query in self.queries.items() if query.stored.id not in ids}
            self.unnamed = [name for name in self.unnamed if name.lower() in self.queries]

    def end_quarantine(self, names: Sequence[str], answering: Sequence[Request] = ()) -> None:
        """Take queries out of quarantine, all or none, by one transaction, which also answers the requests
        for it; the next epoch has them. Where another engine runs on the home, it is asked to."""
        with self.changing:
            try:
                with self._home.changing() as database:
                    resumed = resume(self._home, database, names, self._clock())
                    Requests.accept(database, answering)
            except HomeInUse:
                resume_queries(self._home.path, names, clock=self._clock)
                self._follow_resumed(self._home.catalog.queries())
                return
            for query in self.queries.values():
                now = resumed.get(query.stored.id)
                if now is not None:
                    query.stored = _with_sink(now, query.stored)

    def _follow_resumed(self, stored_queries: Iterable[StoredQuery]) -> None:
        """Take note of queries that another process has taken out of quarantine."""
        by_name = {stored.name.lower(): stored for stored in stored_queries}
        for name, query in self.queries.items():
            before, now = query.stored, by_name.get(name)
            if before.quarantined is None or now is None or now.quarantined is not None:
                continue
            if (now.sql, now.streams, now.schema) == (before.sql, before.streams, before.schema):
                query.stored = _with_sink(now, before)

    # what other processes ask for

    def answer_requests(self) -> None:
        """Do what clients have asked for; what cannot be done is refused, and nothing else disturbed."""
        with self.changing:
            for group in self._requests.waiting():
                self._analyst.look_again()
                mark = self._relations.mark()
                culprit = group[0]
                try:
                    if culprit.kind == "drop":
                        self._drop_for(group)
                        continue
                    if culprit.kind == "resume":
                        self.end_quarantine([request.name for request in group], group)
                        continue
                    adding: dict[str, Bound] = {}
                    for culprit in group:
                        known = self._home.catalog.query(culprit.name)
                        if known is not None:
                            raise self._home.catalog.taken(known)
                        statement = select(culprit.sql, culprit.retain)
                        adding[culprit.name.lower()] = self.bound(culprit.name, statement, None, adding)
                    self.keep(adding, group)
                except Withdrawn:
                    self._relations.take_back(mark)  # what is left of them is looked at again
                except Exception as error:  # whatever it is, it is this request's and not the others'
                    self._relations.take_back(mark)
                    with self._home.transaction() as database:
                        Requests.refuse(database, group, culprit, error)
                    event(
                        logging.WARNING, "request_refused",
                        "it was asked to %(kind)s query '%(query)s', and that is refused: %(reason)s",
                        kind=culprit.kind, query=culprit.name, reason=str(error),
                    )  # fmt: skip

    def _drop_for(self, group: list[Request]) -> None:
        with self._home.transaction() as database:
            stored = []
            for request in group:
                found = self._home.catalog.query(request.name)
                if found is None:
                    raise self._requests.unknown(request.name)
                stored.append(found)
            self._home.forget_queries(database, stored, self._clock())
            Requests.accept(database, group)
        self.let_go({query.id for query in stored})


def _plan_in(records: PlanRecords, stored: StoredQuery, record: str | None) -> BoundQuery | None:
    """The plan of a query as the home has it; None if it has none, or one that no longer holds."""
    plan = None if record is None else records.read(stored.sql, record)
    return plan if plan is not None and result_schema(plan) == stored.schema else None


def _with_sink(now: StoredQuery, before: StoredQuery) -> StoredQuery:
    """A query as the catalog has it, with how far its sink is, which the catalog knows later; one that is a
    new query gives its sink everything."""
    return replace(now, delivered=before.delivered) if now.id == before.id else now


def select(sql: str, retain: int | None) -> Query:
    """The statement of a query that a home has, or is to have."""
    (statement,) = parse(sql)
    assert isinstance(statement, Query)
    return replace(statement, retain=retain)
