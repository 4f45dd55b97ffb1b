"""Queries leave: those that have gone, and those that another operator answers from now on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.planner.draft import Draft
    from windrow.planner.plan import OperatorPlan


def let_go(draft: Draft) -> Draft:
    """The draft without queries that are no longer asked, and with those that were bound again as they are
    now. A query that moves leaves its old operator when the new one answers it. Operators without queries
    are no more."""
    changed: list[OperatorPlan] = []
    for operator in draft.operators.values():
        left = {}
        same = True
        for number, member in operator.members.items():
            asked = draft.asked.get(number)
            if member.until <= draft.observed.evaluated or (asked is None and draft.whole):
                same = False
                continue
            if asked is not None and asked.output.of is not member.output.of:
                member, same = replace(member, output=asked.output), False
            left[number] = member
        if same:
            continue
        changed.append(operator.with_members(left))
    return draft.with_operators(changed) if changed else draft
