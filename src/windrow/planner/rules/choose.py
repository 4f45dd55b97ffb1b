"""What answers the windows of an operator: one structure for many queries, the cheapest algorithm for one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.final.shared.choose import shared_structure
from windrow.planner.algorithms import choose_for_operator
from windrow.planner.plan import Structure

if TYPE_CHECKING:
    from windrow.final import Costs
    from windrow.planner.draft import Draft
    from windrow.planner.plan import OperatorPlan


def choose(draft: Draft) -> Draft:
    """The draft with a final aggregator for every operation of every operator."""
    chosen = [
        chosen_for(operator, draft.settings.costs)
        for operator in draft.operators.values()
        if operator.choices is None
    ]
    return draft.with_operators(chosen) if chosen else draft


def chosen_for(operator: OperatorPlan, costs: Costs) -> OperatorPlan:
    """An operator with a final aggregator for every operation."""
    if operator.shared:
        (demand,) = operator.demands
        aggregates = sorted(demand.aggregates, key=str)
        operations = dict.fromkeys(
            column.operation for item in aggregates for partial in item.partials for column in partial.columns
        )
        made = ((shared_structure(operation), operation) for operation in operations)
        structures = tuple(Structure(s.name, operation.name, s.reason) for s, operation in made)
        return replace(operator, structures=structures, choices={})
    query = operator.first.output.of
    choices = choose_for_operator(query, costs)
    asked = {c.operation for item in query.aggregates for partial in item.partials for c in partial.columns}
    structures = tuple(
        Structure(str(choice), operation.name, "")
        for operation, choice in choices.items()
        if operation in asked
    )
    return replace(operator, structures=structures, choices=choices)
