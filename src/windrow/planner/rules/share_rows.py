"""The passes over a batch: shared by all operators, but for classes that are better off with one for each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.planner.passes.pack import plan_passes
from windrow.planner.plan import SharingClass

if TYPE_CHECKING:
    from collections.abc import Hashable

    from windrow.planner.draft import Draft
    from windrow.planner.passes.base import Demand
    from windrow.planner.plan import Port


def share_rows(draft: Draft) -> Draft:
    """The draft with the passes for its operators; the ones before, while nothing that counts has changed."""
    experience = draft.observed.experience
    served = {port.operator for shared in draft.read.passes for port in shared.demands}
    # One that another stream has begun is in the plan that runs before a pass over this one is for it.
    there = served >= draft.operators.keys() if draft.whole else bool(served) or not draft.operators
    if there and not draft.changed and experience.plans_like(draft.read.experience):
        return draft
    classes: dict[Hashable, SharingClass] = {}
    apart: dict[int, int] = {}
    for alike, operators in draft.by_class.items():
        known = draft.read.classes.get(alike, SharingClass(alike))
        weaver = draft.weaver(operators, operators[0].first)
        separate = len(operators) > 1 and weaver.separate([operator.woven for operator in operators])
        if separate:
            apart |= {operator.id: place for place, operator in enumerate(operators)}
        classes[alike] = replace(known, separate=separate)
    groups: dict[int, dict[Port, Demand]] = {}
    for number, operator in draft.operators.items():
        # Where rows come from the beginning, operators that have seen them do not ask again.
        if draft.whole or not draft.asked.keys().isdisjoint(operator.members):
            groups.setdefault(apart.get(number, 0), {}).update(operator.demands_of(draft.stream))
    passes = tuple(made for demands in groups.values() for made in plan_passes(demands, experience))
    return replace(draft, read=replace(draft.read, passes=passes, classes=classes, experience=experience))
