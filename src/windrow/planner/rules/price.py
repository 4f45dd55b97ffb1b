"""What operators are estimated to cost, in seconds of work a second of stream.

Those of operators add up to those of classes, and these to the stream's: a pass over the rows is divided
among the queries that share it. Alone, every query would have a pass and an operator of its own. Not in it:
results that are written, and queries whose state is of another kind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.planner.plan import Price, SharingClass
from windrow.planner.sharing.weaver import RATE

if TYPE_CHECKING:
    from windrow.planner.draft import Draft
    from windrow.slicing import Cuts

ANOTHER_RATE = 2.0
"""A stream that is so many times as fast, or as slow, as it was priced for, is priced anew."""


def price(draft: Draft) -> Draft:
    """The draft with a price on every operator whose queries can share."""
    read, observed = draft.read, draft.observed
    rate = observed.rate or RATE
    priced = draft.before.inputs.get(draft.stream)
    if priced is not None and read.passes is priced.passes and not draft.changed:
        learned = observed.rate is not None and not read.rate_observed
        another = not 1 / ANOTHER_RATE <= rate / (read.rate or rate) <= ANOTHER_RATE
        if not (draft.look and (learned or another)):
            return draft
    classes = dict(read.classes)
    prices: dict[int, Price] = {}
    for alike, operators in draft.by_class.items():
        weaver = draft.weaver(operators, operators[0].first)
        trees = {operator.id: operator.woven for operator in operators}
        known = classes.get(alike, SharingClass(alike))
        together = 0.0 if known.separate else weaver.collecting(list(trees.values())) / len(trees)
        for number, tree in trees.items():
            collecting = weaver.collecting([tree]) if known.separate else together
            prices[number] = Price(
                weaver.finishing(tree) + collecting, weaver.alone(tree.windows), weaver.final(tree)
            )
        seen = any(observed.groups.get(operator.id) for operator in operators)
        classes[alike] = replace(known, groups=weaver.model.groups, groups_observed=seen)
    cuts: dict[int, Cuts] = {}
    for shared in read.passes:
        own = {port.operator: found for port, found in shared.cuts_by_demand().items()}
        cuts |= own
        served = {number: len(draft.operators[number].members) for number in own if number in draft.operators}
        queries = sum(served.values())
        for number, members in served.items():
            if number in prices:
                rows = shared.row_seconds(draft.settings.constants.row) * rate * members / queries
                prices[number] = replace(prices[number], cost=prices[number].cost + rows)
    priced_operators = [
        replace(
            operator,
            price=prices.get(number, operator.price),
            cuts=cuts.get(number),
            tree=operator.woven if number in prices else None,
        )
        for number, operator in draft.operators.items()
    ]
    read = replace(read, classes=classes, rate=rate, rate_observed=observed.rate is not None)
    return replace(draft.with_operators(priced_operators), read=read)
