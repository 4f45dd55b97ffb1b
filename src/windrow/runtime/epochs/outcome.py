"""The outcome of an epoch: what operators have answered, what its queries are after it, what it reports."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windrow.runtime.epochs.report import EpochReport
from windrow.runtime.state.answering import UNANSWERED

if TYPE_CHECKING:
    from windrow.runtime.epochs.culprits import Suspects
    from windrow.runtime.epochs.part import Part
    from windrow.runtime.home.records import StoredQuery
    from windrow.runtime.home.results import ResultWriter
    from windrow.runtime.state.answering import Answered
    from windrow.runtime.state.executor import Ran
    from windrow.runtime.state.queries import RunningQuery
    from windrow.runtime.state.work import Work


@dataclass(frozen=True)
class Answers:
    """What the operators of an epoch have answered."""

    works: Sequence[Work]
    by_query: Mapping[int, Answered]
    told_with: Mapping[int, Part]
    """The part that the answers of a query are told with: the first, if it reads several streams."""
    ran: Ran
    results: ResultWriter

    def of(self, part: Part) -> dict[int, Answered]:
        """The answers that are told with a part."""
        return {n: answered for n, answered in self.by_query.items() if self.told_with.get(n) is part}


def queries_of(parts: Iterable[Part]) -> dict[int, RunningQuery]:
    """The queries of an epoch, each once, by their numbers."""
    return {query.stored.id: query for part in parts for query in part.queries}


def queries_after(
    queries: Mapping[int, RunningQuery],
    works: Iterable[Work],
    answers: Answers,
    suspects: Suspects,
    number: int,
    sealed: frozenset[int],
) -> dict[int, StoredQuery]:
    """Queries as they are after an epoch, by their numbers; those that are as they were, themselves."""
    joined: dict[int, int | None] = {}
    missed: dict[int, int | None] = {}
    for work in works:
        for each, member in work.plan.members.items():
            if each not in joined or member.stays is False:  # one that moves at once came to the first
                joined[each] = member.joined
            if len(work.plan.streams) > 1:  # batches that were staged without it may have come behind it
                missed[each] = member.joined
    after = {}
    for each, query in queries.items():
        stored, answered = query.stored, answers.by_query.get(each, UNANSWERED)
        error = suspects.failed.get(each)
        if query.sink is not None and stored.delivered is None:
            stored = replace(stored, delivered=number - 1)
        complete_after = (missed if stored.started else joined).get(each, stored.complete_after)
        is_other = not stored.started or complete_after != stored.complete_after
        if answered.count or error is not None or each in sealed or is_other:
            latest = [end for end in (stored.latest_end, answered.latest_end) if end is not None]
            stored = replace(
                stored,
                started=True,
                complete_after=complete_after,
                sealed=each in sealed and error is None,
                quarantined=None if error is None else str(error),
                quarantined_epoch=None if error is None else number,
                answers=stored.answers + answered.count,
                latest_end=max(latest, default=None),
            )
        after[each] = stored
    return after


def report_of(
    number: int, part: Part, answers: Answers, suspects: Suspects, committing: float
) -> EpochReport:
    """What an epoch reports of one of its parts."""
    names = {query.stored.id: query.stored.name for query in part.queries}
    answered = {names[query]: found for query, found in answers.of(part).items()}
    ran = answers.ran
    return EpochReport(
        number, part.stream.name, part.batch, part.tally.rows, part.tally.late, part.tally.dead,
        part.progress.watermark, time.perf_counter() - part.begun, part.progress.idle,
        {name: found.count for name, found in answered.items()},
        {name: found.last for name, found in answered.items() if found.last is not None},
        {names[query]: str(error) for query, error in suspects.failed.items() if query in names},
        committing, answers.results.seconds + max(ran.writing_seconds.values(), default=0.0),
        ran.seconds, part.plans_failed(),
    )  # fmt: skip
