"""What Spark collects from a batch: the passes of a plan, with patience, and without the queries that fail.

A pass that the machine made fail is run again after a pause; one that a query made fail is run again with
ever fewer queries, so that only the culprits are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from windrow.errors import QueryFailed, SourceError
from windrow.planner.passes.pack import plan_passes
from windrow.runtime.epochs.culprits import check_that_some_run, culprits
from windrow.runtime.logs import LOG
from windrow.runtime.spark.blame import Unclear, Unreadable
from windrow.runtime.spark.collect import collect, read_table, tally_batch
from windrow.runtime.spark.footers import tally_by_footers
from windrow.runtime.spark.patience import NOTHING_LOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from windrow.logical import BoundQuery, Stream
    from windrow.planner import BatchPass, Bounds, Experience, Tally
    from windrow.planner.passes.base import Demand
    from windrow.planner.plan import OperatorPlan, Port
    from windrow.runtime.spark.patience import Patience

    Found = TypeVar("Found")
    Tables = dict[Port, list[pa.Table]]


@dataclass(frozen=True)
class Collected:
    """What was collected from a batch."""

    tables: Mapping[Port, Sequence[pa.Table]]
    """For each port of an operator: a table from each of its passes."""
    tally: Tally
    experience: Experience
    """What is known of the passes now."""
    failed: Mapping[int, Exception] = field(default_factory=dict)
    """Queries for which nothing was, and why, by their numbers."""


class Collecting:
    """Runs the passes of a plan over one batch."""

    def __init__(
        self,
        stream: Stream,
        batch: DataFrame,
        bounds: Bounds,
        tables: Mapping[str, DataFrame],
        patience: Patience,
        files: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """`files`: finds those that the batch consists of, if they are Parquet."""
        self._stream = stream
        self._batch = batch
        self._bounds = bounds
        self._tables = tables
        self._patience = patience
        self._files = files

    def run(
        self,
        passes: Sequence[BatchPass],
        operators: Mapping[int, OperatorPlan],
        experience: Experience,
    ) -> Collected:
        """What the passes collect for operators."""
        found: Tables = {}
        tally: Tally | None = None
        suspects: set[int] = set()
        for shared in passes:
            try:
                table, counted = self._collect(shared)
                experience = shared.learned(table, counted, experience)
                _hand_out(shared, table, found)
                tally = tally or counted
            except QueryFailed:
                tally = self.tally()
                suspects.update(port.operator for port in shared.demands)
            except Unreadable:
                self.tally()  # says so if it is the stream that cannot be read
                raise
        failed: dict[int, Exception] = {}
        if suspects:
            suspected = {number: operators[number] for number in suspects}
            # What the passes that ran well have is collected again.
            found = {port: tables for port, tables in found.items() if port.operator not in suspected}
            again, failed, experience = self._without_culprits(suspected, experience)
            found |= again
            self._confirm(suspected, operators, found, failed, experience)
        tally = tally or tally_by_footers(self._stream, self._files(), self._bounds) or self.tally()
        return Collected(found, tally, experience, failed)

    def tally(self) -> Tally:
        """Count the rows; if even that fails, it is the source, not a query."""
        return self.read(partial(tally_batch, self._stream, self._batch, self._bounds))

    def read(self, attempt: Callable[[], Found]) -> Found:
        """What reading the stream without a query gives; if that fails, the stream cannot be read."""
        return read_stream(self._stream.name, attempt, self._patience)

    def _collect(self, shared: BatchPass) -> tuple[pa.Table, Tally | None]:
        return self._patience.through(partial(collect, shared, self._batch, self._bounds, self._tables))

    def _run_alone(
        self, operators: Mapping[int, OperatorPlan], experience: Experience, queries: Iterable[int]
    ) -> Tables:
        """What operators collect for some of their queries, in passes for these alone; raises QueryFailed if
        one of them fails."""
        chosen = set(queries)
        demands: dict[Port, Demand] = {}
        for operator in operators.values():
            own = {query: member for query, member in operator.members.items() if query in chosen}
            if own:
                demands |= operator.with_members(own).demands_of(self._stream.name)
        found: Tables = {}
        for shared in plan_passes(demands, experience):
            _hand_out(shared, self._collect(shared)[0], found)
        return found

    def _without_culprits(
        self, operators: Mapping[int, OperatorPlan], experience: Experience
    ) -> tuple[Tables, dict[int, Exception], Experience]:
        """What operators collect for those queries that do not fail, and why the others do."""
        queries = list(dict.fromkeys(query for operator in operators.values() for query in operator.members))
        run = partial(self._run_alone, operators, experience)
        failed: dict[int, Exception] = {**culprits(queries, run)}
        innocent = [query for query in queries if query not in failed]
        try:
            return run(innocent), failed, experience
        except QueryFailed:
            LOG.warning("queries that run well alone fail in one pass; from now on each class has its own")
            experience = replace(experience, weaves=False)
        found: Tables = {}
        for number, operator in operators.items():  # whole: what one operator gets must be cut alike
            own = operator.members.keys() & set(innocent)
            try:
                found |= self._run_alone({number: operator}, experience, own)
            except QueryFailed as error:
                failed |= dict.fromkeys(own, error)
        return found, failed, experience

    def _confirm(
        self,
        suspected: Mapping[int, OperatorPlan],
        operators: Mapping[int, OperatorPlan],
        found: Tables,
        failed: dict[int, Exception],
        experience: Experience,
    ) -> None:
        """Blame a query whose error does not say whose fault it is only if it fails alone once more while its
        tables can be read and other queries run well; the tally of the batch has, before.

        `found` is what was collected for those that run well, and gets that of queries that do now.
        """
        cleared: set[int] = set()
        names = {n: m.output.name for operator in operators.values() for n, m in operator.members.items()}
        plans = {n: m.output.of for operator in suspected.values() for n, m in operator.members.items()}
        for query in [query for query, error in failed.items() if isinstance(error, Unclear)]:
            try:
                self._run_alone(suspected, experience, [query])
                del failed[query]
                cleared.add(query)
                continue
            except QueryFailed as error:
                failed[query] = error
            self._check_tables(plans[query])
        check_that_some_run(
            {names[query]: error for query, error in failed.items()}, len(names.keys() - failed.keys())
        )
        again = {n: o for n, o in suspected.items() if not cleared.isdisjoint(o.members)}
        if again:  # whole: what one operator gets must be cut alike
            found |= self._run_alone(again, experience, plans.keys() - failed.keys())

    def _check_tables(self, query: BoundQuery) -> None:
        for table in query.tables:
            try:
                self._patience.through(partial(read_table, self._tables[table]))
            except (QueryFailed, Unreadable) as error:
                raise _cannot_be_read(f"table '{table}'", error) from error


def read_stream(name: str, attempt: Callable[[], Found], patience: Patience) -> Found:
    """What reading a stream without a query gives; if that fails, the stream cannot be read."""
    try:
        return patience.through(attempt)
    except (QueryFailed, Unreadable) as error:
        raise _cannot_be_read(f"stream '{name}'", error) from error


def _hand_out(shared: BatchPass, table: pa.Table, found: Tables) -> None:
    for ports, own in shared.tables(table):
        for port in ports:
            found.setdefault(port, []).append(own)


def _cannot_be_read(relation: str, error: QueryFailed | Unreadable) -> SourceError:
    problem = error.problem if isinstance(error, Unreadable) else str(error)
    return SourceError(f"{relation} cannot be read: {problem.rstrip('.')}. {NOTHING_LOST}")
