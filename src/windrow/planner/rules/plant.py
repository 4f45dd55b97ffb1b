"""New queries find their operators: one that has their window, one that they weave well with, or new ones.

A class that has no operators yet is planned whole, within a budget; otherwise queries go where they raise the
cost least. A query that comes while the stream runs is answered from what its operator holds already, as far
back as every cut and every partial that it needs has been made; otherwise from the windows that begin after
the latest event time seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.planner.draft import answered_after
from windrow.planner.past import Past
from windrow.planner.plan import MemberPlan, SharingClass, ports_of
from windrow.planner.sharing.classes import sharing_class
from windrow.planner.sharing.weaver import planning_seconds

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from windrow.planner.draft import Asked, Draft
    from windrow.planner.plan import OperatorPlan
    from windrow.planner.sharing.tree import Tree
    from windrow.slicing import Window


def plant(draft: Draft) -> Draft:
    """The draft with an operator for every query that is asked."""
    placed = {number for operator in draft.operators.values() for number in operator.members}
    begun = {number: draft.begun[number] for number in draft.asked.keys() & draft.begun.keys() - placed}
    draft = draft.with_operators(begun[number] for number in sorted(begun))
    placed |= begun.keys()
    fresh = [asked for number, asked in draft.asked.items() if number not in placed]
    by_class: dict[Hashable, list[Asked]] = {}
    alone: list[Asked] = []
    for asked in fresh:
        alike = sharing_class(asked.output.of)
        if alike is None:
            alone.append(asked)
        else:
            by_class.setdefault(alike, []).append(asked)
    known = {} if draft.anew else draft.by_class
    seconds = planning_seconds(len(by_class))
    for alike, some in by_class.items():
        draft = _plant_class(draft, alike, some, known.get(alike, []), seconds)
    return draft.with_operators(
        joined(draft.new_operator(number, ports_of(asked.output.of)), [asked], draft)
        for number, asked in enumerate(alone, start=1)
    )


def _plant_class(
    draft: Draft, alike: Hashable, fresh: list[Asked], operators: list[OperatorPlan], seconds: float
) -> Draft:
    weaver = draft.weaver(operators, fresh[0])
    waiting: dict[Window, list[Asked]] = {}
    for asked in fresh:
        (window,) = asked.output.of.time_windows
        waiting.setdefault(window, []).append(asked)
    goals: dict[int, OperatorPlan] = {operator.id: operator for operator in operators}
    joining: dict[int, list[Asked]] = {}
    trees: dict[int, Tree] = {}
    if weaver.hint != "no_share":
        for operator in operators:
            for window in operator.windows & waiting.keys():
                joining.setdefault(operator.id, []).extend(waiting.pop(window))
    if waiting:
        placed: list[tuple[int | None, Tree]]
        if operators:
            placed = weaver.place(list(waiting), [operator.woven for operator in operators])
        else:
            plan = weaver.planned((window for window in waiting for _ in waiting[window]), seconds)
            placed = [(None, tree) for tree in plan.trees]
            who = plan.optimizer if plan.in_time else f"{plan.optimizer} (stopped at its deadline)"
            known = draft.read.classes.get(alike, SharingClass(alike))
            classes = {**draft.read.classes, alike: replace(known, optimizer=who)}
            draft = replace(draft, read=replace(draft.read, classes=classes))
        new = 0
        for place, tree in placed:
            if place is None:
                new += 1
                goal = draft.new_operator(new)
                goals[goal.id] = goal
            else:
                goal = operators[place]
            if not operators:  # else the tree counts the windows, and not the queries that ask for them
                trees[goal.id] = tree
            for window in tree.windows:
                joining.setdefault(goal.id, []).extend(waiting.pop(window, ()))
    return draft.with_operators(
        replace(joined(goals[number], some, draft), tree=trees.get(number))
        for number, some in joining.items()
    )


def joined(operator: OperatorPlan, asked: Iterable[Asked], draft: Draft) -> OperatorPlan:
    """An operator with more queries; what it holds already may tell them of the past."""
    past = Past(operator, draft.observed.evaluated) if operator.members else None
    members = {}
    for query in asked:
        since, latest = None, draft.observed.latest
        if past is not None:
            since = past.complete_after(query.output.of)
        if since is not None and latest is not None and since < latest:
            latest = since
        members[query.output.query] = MemberPlan(query.output, latest, answered_after(query, latest))
    return operator.with_members({**operator.members, **members})
