"""From where on a query over several streams has the rows of all of them.

Its operator is planned with a batch of one stream, while batches of the others, staged before it came, may
still be on their way to an epoch: they were not read for it. What it has missed is known only when an epoch
takes its parts in, and may become more as long as such batches come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.columns import BEGINNING

if TYPE_CHECKING:
    from windrow.planner.plan import OperatorPlan, PhysicalPlan
    from windrow.runtime.epochs.part import Part
    from windrow.runtime.home.records import Progress


def with_arrivals(
    plan: PhysicalPlan,
    before: PhysicalPlan,
    parts: Sequence[Part],
    progress: Callable[[str], Progress],
) -> PhysicalPlan:
    """The plan with the latest event time that each query over several streams has missed.

    `before`: the plan that is committed. `progress`: how far a stream is, as it is committed.
    """
    by_stream = {part.stream.name: part for part in parts}
    changed: dict[int, OperatorPlan] = {}
    # Also operators that none of the parts knows of: just these have missed rows.
    reading = {n: operator for part in parts for n, operator in plan.of_stream(part.stream.name).items()}
    for number, operator in reading.items():
        if len(operator.streams) < 2:
            continue
        missed = _missed(operator, by_stream, progress, is_new=number not in before.operators)
        members = {}
        for query, member in operator.members.items():
            known = member.joined if number in before.operators else None
            latest = max((at for at in (*missed, known) if at is not None), default=None)
            members[query] = member if latest == member.joined else replace(member, joined=latest)
        if any(members[query] is not member for query, member in operator.members.items()):
            changed[number] = replace(operator, members=members)
    return replace(plan, operators={**plan.operators, **changed}) if changed else plan


def _missed(
    operator: OperatorPlan, parts: Mapping[str, Part], progress: Callable[[str], Progress], *, is_new: bool
) -> list[int | None]:
    """The latest event times of rows that were not read for an operator, by stream."""
    missed: list[int | None] = []
    for stream in operator.streams:
        part = parts.get(stream)
        if part is not None and operator.id not in part.plan.operators:
            missed.append(part.progress.latest)
        elif is_new and not (part is not None and part.evaluated == BEGINNING):
            missed.append(progress(stream).latest)  # a frame is read from its beginning, whoever has read it
    return missed
