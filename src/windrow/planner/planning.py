"""The one function that makes plans: from the queries, what was observed, the settings and the plan before.

It has no side effects and asks nobody: the same arguments give the same plan, as far as optimizers that look
for the cheapest plan until a deadline do. A plan is made stream by stream, since batches of different streams
are staged at the same time, each with the plan of its own stream's part.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.planner.draft import Draft
from windrow.planner.plan import NOTHING, InputPlan
from windrow.planner.rules import RULES
from windrow.planner.sharing.weaver import WORTH_IT

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from windrow.planner.draft import Asked
    from windrow.planner.observed import Observed
    from windrow.planner.plan import OperatorPlan, PhysicalPlan
    from windrow.planner.settings import Settings
    from windrow.slicing import Window

BACKGROUND_SECONDS = 10.0
"""How long the background may think about one class."""
TOO_LARGE = 1.3
"""How many times a node's even part of all work one operator may be, before its class is split."""


def plan(
    stream: str,
    asked: Iterable[Asked],
    observed: Observed,
    settings: Settings,
    before: PhysicalPlan = NOTHING,
    *,
    proposed: PhysicalPlan | None = None,
    last_operator: int = 0,
    whole: bool = True,
    anew: bool = False,
    look: bool = True,
    begun: Mapping[int, OperatorPlan] | None = None,
) -> PhysicalPlan:
    """The plan in which these queries over a stream run; the plan before itself, if nothing changes.

    `proposed`: what was planned in the background. `last_operator`: numbers up to this are taken, though the
    plan before may not say so. `whole`: the queries are all that there are over the stream. `anew`: rows come
    from the beginning. `look`: prices are looked at again, though no query has come or gone. `begun`:
    operators that other streams have planted for queries over several, and that no epoch has committed yet.
    """
    draft = Draft(
        stream,
        {query.output.query: query for query in asked},
        observed,
        settings,
        before,
        proposed,
        whole,
        anew,
        look,
        before.of_stream(stream),
        max(last_operator, before.last_operator),
        before.inputs.get(stream, InputPlan(stream)),
        begun or {},
    )
    for rule in RULES:
        draft = rule(draft)
    present = before.of_stream(stream)
    same = all(operator is present.get(number) for number, operator in draft.operators.items())
    if same and len(present) == len(draft.operators) and draft.read is before.inputs.get(stream):
        return before
    return before.with_stream(draft.read, draft.operators, draft.last_operator)


def rewoven(
    present: PhysicalPlan, stream: str, alike: Hashable, observed: Observed, settings: Settings
) -> PhysicalPlan | None:
    """Another plan, in which the queries of a class are in other operators, if that pays or was asked for.

    It takes its time, so it is made in the background; `plan` takes it over, as `proposed`.
    """
    read = present.inputs.get(stream, InputPlan(stream))
    draft = Draft(
        stream, {}, observed, settings, present, operators=present.of_stream(stream),
        last_operator=present.last_operator, read=read,
    )  # fmt: skip
    operators = draft.by_class.get(alike, [])
    staying = [operator for operator in operators if operator.windows]
    if not staying:
        return None
    weaver = draft.weaver(operators, staying[0].first)
    trees = [weaver.model.tree(operator.windows) for operator in staying]
    if weaver.hint is None and weaver.nodes == 1 and not weaver.may_save(trees):
        return None
    planned = weaver.plant([w for operator in staying for w in operator.windows], BACKGROUND_SECONDS)
    pays = weaver.cost(planned) < WORTH_IT * weaver.cost(trees)
    asked_for = weaver.hint is not None and len(planned) != len(operators)
    if not (pays or asked_for):
        return None
    members = [m for operator in operators for m in operator.members.values() if m.stays]
    made = [
        replace(
            draft.new_operator(place).with_members({m.query: m for m in members if m.window in windows}),
            tree=tree,
        )
        for place, (tree, windows) in enumerate(((t, set(t.windows)) for t in planned), start=1)
    ]
    others = {o.id: o for o in draft.operators.values() if o.alike != alike}
    last = max((operator.id for operator in made), default=present.last_operator)
    return present.with_stream(read, others | {operator.id: operator for operator in made}, last)


def wants_weaving(
    present: PhysicalPlan, stream: str, nodes: int, tried: Mapping[Hashable, tuple[int, frozenset[Window]]]
) -> Hashable | None:
    """A class that should be planned anew: because one of its operators is too much for a node, or because
    they were made for more nodes than there are now. `tried`: for how many nodes, and for which windows,
    classes have been planned anew."""
    by_class: dict[Hashable, list[OperatorPlan]] = {}
    for operator in present.of_stream(stream).values():
        if operator.alike is not None:
            by_class.setdefault(operator.alike, []).append(operator)
    total = sum(operator.price.final for operators in by_class.values() for operator in operators)
    for alike, operators in by_class.items():
        windows = all_windows(operators)
        planned_for = tried.get(alike)
        if planned_for == (nodes, windows):
            continue
        if nodes == 1:
            if planned_for is not None and len(operators) > 1:
                return alike
        elif len(windows) > 1 and max(o.price.final for o in operators) > TOO_LARGE * total / nodes:
            return alike
    return None


def all_windows(operators: Iterable[OperatorPlan]) -> frozenset[Window]:
    """The windows of the queries that stay in some operators."""
    return frozenset().union(*(operator.windows for operator in operators))
