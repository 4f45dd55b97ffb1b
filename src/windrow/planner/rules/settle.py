"""Operators settle: in the driver, or, where there is much to do between two batches, on as many Spark tasks
as there are cores.

The final work of a batch is what operators cost a second of stream, times the event time that batches bring.
A job for it takes some tenths of a second, so little work stays in the driver, where the state is at hand;
much of it is shared by nodes. Operators are put on the node that has least to do, and stay there, with their
state, as long as that is about even.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.planner.sharing.spread import to_lowest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.planner.draft import Draft
    from windrow.planner.plan import OperatorPlan

LARGE_SECONDS, SMALL_SECONDS = 1.0, 0.25
"""The final work of a batch from which on tasks share it, and below which the driver takes it back."""
UNEVEN = 1.3
"""How many times as much as in the best placement the busiest node may have to do, before operators move."""


def settle(draft: Draft) -> Draft:
    """The draft with every operator where it should be; one whose queries cannot share, in the driver."""
    if draft.anew or not (draft.changed or draft.look):
        return draft
    costs: dict[int, float] = {}
    for operators in draft.by_class.values():
        weaver = draft.weaver(operators, operators[0].first)
        for operator in operators:
            costs[operator.id] = weaver.final(operator.woven)
    nodes = nodes_for(draft, costs)
    able = [draft.operators[number] for number in costs] if nodes > 1 else []
    goals = goals_of(able, [costs[operator.id] for operator in able], nodes)
    changed = []
    for number, operator in draft.operators.items():
        node = goals.get(number)
        if node != operator.node:
            shared, tree = operator.shared or node is not None, operator.woven if number in costs else None
            changed.append(replace(operator, node=node, shared=shared, tree=tree))
    if changed:
        draft = draft.with_operators(changed)
    return draft if nodes == draft.read.nodes else replace(draft, read=replace(draft.read, nodes=nodes))


def nodes_for(draft: Draft, costs: Mapping[int, float]) -> int:
    """On how many nodes the operators should be, by what each costs a second of stream; 1: in the driver."""
    settings, seconds = draft.settings, draft.observed.batch_seconds
    if settings.nodes is not None:
        return settings.nodes
    are_away = any(operator.node is not None for operator in draft.operators.values())
    nodes = settings.cores if draft.read.nodes > 1 or are_away else 1
    if seconds is not None:
        work = sum(costs.values()) * seconds
        if work >= LARGE_SECONDS:
            nodes = settings.cores
        elif work < SMALL_SECONDS:
            nodes = 1
    return nodes


def goals_of(operators: Sequence[OperatorPlan], costs: Sequence[float], nodes: int) -> dict[int, int]:
    """The node of each operator: where it is, if that is about even; otherwise to the lowest."""
    if not operators:
        return {}
    loads = [0.0] * nodes
    goals: dict[int, int] = {}
    dearest_first = sorted(zip(costs, operators, strict=True), key=lambda pair: pair[0], reverse=True)
    for cost, operator in dearest_first:
        if operator.node is not None and operator.node < nodes:
            goals[operator.id] = operator.node
            loads[operator.node] += cost
    for cost, operator in dearest_first:
        if operator.id not in goals:
            goals[operator.id] = loads.index(min(loads))
            loads[goals[operator.id]] += cost
    best = to_lowest(costs, nodes)
    even = [sum(c for c, node in zip(costs, best, strict=True) if node == n) for n in range(nodes)]
    if max(loads) <= UNEVEN * max(even):
        return goals
    return {operator.id: node for operator, node in zip(operators, best, strict=True)}
