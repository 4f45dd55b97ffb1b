"""A plan as records of plain values, which the catalog keeps, and back again.

Queries are named by their numbers, partials by their places among those that an operator asks for. What
follows from the queries and the settings (demands, algorithms, cuts) is not kept; what was decided, and by
which prices, is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from windrow.logical.patterns import UpdatePattern
from windrow.planner.passes.experience import Experience
from windrow.planner.passes.recorded import from_record
from windrow.planner.plan import Edge, InputPlan, MemberPlan, OperatorPlan, PhysicalPlan, Price, SharingClass
from windrow.planner.rules.choose import chosen_for
from windrow.runtime.home.records import PlanChange, StoredInput, StoredMember, StoredOperator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.planner.passes.base import BatchPass, Demand
    from windrow.planner.plan import OutputPlan, Port
    from windrow.planner.settings import Settings


def change(before: PhysicalPlan, after: PhysicalPlan) -> PlanChange:
    """What has to be written down for a plan to be in the place of another."""
    if before is after:
        return PlanChange()
    return PlanChange(
        [
            _input(read, after)
            for stream, read in after.inputs.items()
            if before.inputs.get(stream) is not read
        ],
        [
            _operator(operator)
            for number, operator in after.operators.items()
            if before.operators.get(number) is not operator
        ],
        [number for number in before.operators if number not in after.operators],
    )


def restored(
    inputs: Iterable[StoredInput],
    operators: Iterable[StoredOperator],
    outputs: Mapping[int, OutputPlan],
    settings: Settings,
    last_operator: int,
) -> PhysicalPlan:
    """The plan that was written down, as far as there are the queries that it is of.

    `outputs`: the queries, by their numbers. Where some have gone, passes are planned anew when it is run.
    """
    found: dict[int, OperatorPlan] = {}
    incomplete: set[str] = set()
    for stored in operators:
        ports = tuple(Edge(stream, UpdatePattern(pattern)) for stream, pattern in stored.ports)
        members = {
            m.query: MemberPlan(outputs[m.query], m.joined, m.after, m.until)
            for m in stored.members
            if m.query in outputs
        }
        if members:
            price = Price(*stored.price)
            plan = OperatorPlan(stored.id, ports, members, stored.shared, stored.node, price=price)
            found[stored.id] = chosen_for(plan, settings.costs)
        if len(members) < len(stored.members):
            incomplete.update(port.stream for port in ports)
    read = {}
    for given in inputs:
        own = {number: o for number, o in found.items() if given.stream in o.streams}
        read[given.stream] = _read_input(given, own, passes=given.stream not in incomplete)
        for number, cuts in _cuts(read[given.stream]).items():
            found[number] = replace(found[number], cuts=cuts)
    return PhysicalPlan(read, found, last_operator)


def _operator(operator: OperatorPlan) -> StoredOperator:
    members = [StoredMember(n, m.joined, m.after, m.until) for n, m in operator.members.items()]
    ports = [(port.stream, port.pattern.value) for port in operator.ports]
    price = (operator.price.cost, operator.price.alone, operator.price.final)
    return StoredOperator(operator.id, ports, operator.shared, operator.node, price, members)


def _input(read: InputPlan, plan: PhysicalPlan) -> StoredInput:
    first = {o.alike: o.id for o in reversed(plan.of_stream(read.stream).values())}
    experience = read.experience
    return StoredInput(
        read.stream,
        {
            "passes": [{"for": list(shared.demands), **shared.record} for shared in read.passes],
            "classes": [
                {
                    "operator": first[alike],
                    "separate": one.separate,
                    "optimizer": one.optimizer,
                    "groups": one.groups,
                    "groups_observed": one.groups_observed,
                }
                for alike, one in read.classes.items()
                if alike in first
            ],
            "nodes": read.nodes,
            "rate": read.rate,
            "rate_observed": read.rate_observed,
            "experience": {
                "scattered": sorted(experience.scattered),
                "crowded": sorted(sorted(keys) for keys in experience.crowded),
                "groups": experience.groups,
                "weaves": experience.weaves,
            },
        },
    )


def _read_input(stored: StoredInput, operators: Mapping[int, OperatorPlan], *, passes: bool) -> InputPlan:
    given = stored.plan
    learned = given["experience"]
    classes = {}
    for one in given["classes"]:
        operator = operators.get(one["operator"])
        if operator is not None and operator.alike is not None:
            classes[operator.alike] = SharingClass(
                operator.alike, one["separate"], one["optimizer"], one["groups"], one["groups_observed"]
            )
    demands = {
        port: demand
        for operator in operators.values()
        for port, demand in operator.demands_of(stored.stream).items()
    }
    made = _passes(given["passes"], demands) if passes else ()
    experience = Experience(
        frozenset(learned["scattered"]),
        frozenset(map(frozenset, learned["crowded"])),
        learned["groups"],
        weaves=learned["weaves"],
    )
    for shared in made:
        experience = shared.recalled(experience)
    return InputPlan(
        stored.stream,
        made,
        classes,
        given["nodes"],
        given["rate"],
        given["rate_observed"],
        experience,
    )


def _passes(records: Sequence[Mapping[str, Any]], demands: Mapping[Port, Demand]) -> tuple[BatchPass, ...]:
    """The passes that were written down; none, to be planned anew, if they are not for these operators."""
    try:
        passes = tuple(from_record(one, demands) for one in records)
    except (KeyError, IndexError, ValueError):
        return ()
    return passes if {port for shared in passes for port in shared.demands} == demands.keys() else ()


def _cuts(read: InputPlan) -> dict[int, Any]:
    return {port.operator: cuts for shared in read.passes for port, cuts in shared.cuts_by_demand().items()}
