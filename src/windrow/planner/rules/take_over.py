"""Queries move to where a plan wants them that was made in the background, without moving a slice.

A query that moves is in two operators for a while. The new one cuts and lifts for it from now on; the old
one answers it as long as its windows reach back to before that, the new one afterwards. The rows are in the
slices of both, and every evaluation is answered by exactly one of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.planner.plan import MemberPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.planner.draft import Draft
    from windrow.planner.plan import OperatorPlan
    from windrow.slicing import Window


def take_over(draft: Draft) -> Draft:
    """The draft with the operators that are proposed, for classes whose windows are those proposed for."""
    if draft.proposed is None:
        return draft
    wanted: dict[object, list[set[Window]]] = {}
    for operator in draft.proposed.of_stream(draft.stream).values():
        if operator.alike is not None and operator.windows:
            wanted.setdefault(operator.alike, []).append(operator.windows)
    for alike, operators in draft.by_class.items():
        planned, present = wanted.get(alike), [operator.windows for operator in operators]
        if planned is None or set().union(*planned) != set().union(*present):
            continue
        if any(not member.stays for operator in operators for member in operator.members.values()):
            continue  # who moved back to where it is still answered would be answered by nobody for a while
        if sorted(map(sorted, planned)) != sorted(sorted(windows) for windows in present if windows):
            draft = _moved(draft, operators, planned)
    return draft


def _moved(draft: Draft, operators: list[OperatorPlan], planned: list[set[Window]]) -> Draft:
    latest, evaluated = draft.observed.latest, draft.observed.evaluated
    goals: list[OperatorPlan] = []
    for found in matched(operators, planned):
        new = sum(goal.id > draft.last_operator for goal in goals) + 1
        goals.append(found or draft.new_operator(new))
    goal_of = {window: goal.id for goal, windows in zip(goals, planned, strict=True) for window in windows}
    members = {operator.id: dict(operator.members) for operator in (*operators, *goals)}
    for operator in operators:
        for number, member in operator.members.items():
            if not member.stays or goal_of[member.window] == operator.id:
                continue
            handed = member.after if latest is None else max(member.after, latest + member.window.range)
            members[operator.id][number] = replace(member, until=handed)
            members[goal_of[member.window]][number] = MemberPlan(member.output, latest, handed)
    changed = []
    for operator in {operator.id: operator for operator in (*operators, *goals)}.values():
        left = {n: member for n, member in members[operator.id].items() if member.until > evaluated}
        if left != operator.members:
            changed.append(operator.with_members(left))
    return draft.with_operators(changed)


def matched(operators: Sequence[OperatorPlan], planned: Sequence[set[Window]]) -> list[OperatorPlan | None]:
    """For each set of windows the operator that has most of them, each operator once."""
    common = sorted(
        (
            (len(operator.windows & windows), o, p)
            for o, operator in enumerate(operators)
            for p, windows in enumerate(planned)
        ),
        reverse=True,
    )
    found: list[OperatorPlan | None] = [None] * len(planned)
    taken: set[int] = set()
    for shared, o, p in common:
        if shared and o not in taken and found[p] is None:
            found[p] = operators[o]
            taken.add(o)
    return found
