"""Plans: who is in which operator, where operators are, and that a plan is a value. Without Spark."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from tests.planner.queries import MAX, MEDIAN, SECOND, SUM, asked, bound
from windrow.columns import BEGINNING, END_OF_TIME
from windrow.planner.draft import Draft
from windrow.planner.observed import Observed
from windrow.planner.past import Past
from windrow.planner.plan import NOTHING, Edge, MemberPlan, OperatorPlan
from windrow.planner.planning import all_windows, plan, rewoven, wants_weaving
from windrow.planner.rules.settle import LARGE_SECONDS, SMALL_SECONDS, goals_of, nodes_for
from windrow.planner.settings import Settings
from windrow.slicing import RowWindow, Window

IN_THE_DRIVER = Settings(nodes=1)
RAN = Observed(latest=100, evaluated=100)
"""A stream that has run."""


def planned(queries, before=NOTHING, observed=RAN, settings=IN_THE_DRIVER, **given):
    return plan("events", [asked(n, q) for n, q in queries.items()], observed, settings, before, **given)


def members(made):
    """The queries of each operator, by its number."""
    return {number: set(operator.members) for number, operator in made.operators.items()}


# queries come and go


def test_queries_with_the_same_rows_share_an_operator_and_others_have_their_own():
    made = planned(
        {1: bound(Window(40, 5)), 2: bound(Window(20, 10), MAX), 3: bound(Window(40, 5), keys=("k",)),
         4: bound(RowWindow(10, 5)), 5: bound(Window(40, 5), MEDIAN)}
    )  # fmt: skip
    assert sorted(map(sorted, members(made).values())) == [[1, 2], [3], [4], [5]]
    assert {port.operator for shared in made.inputs["events"].passes for port in shared.demands} == set(
        made.operators
    )


def test_nothing_changes_where_nothing_came_or_went():
    queries = {1: bound(Window(40, 5)), 2: bound(Window(20, 10), keys=("k",))}
    made = planned(queries)
    assert planned(queries, made) is made
    assert planned(queries, made, look=False) is made


def test_a_plan_is_a_value():
    queries = {1: bound(Window(40, 5)), 2: bound(Window(20, 10))}
    made = planned(queries)
    was = members(made)
    more = planned({**queries, 3: bound(Window(20, 10)), 4: bound(Window(9, 3), keys=("k",))}, made)
    less = planned({2: queries[2]}, made)
    assert members(made) == was
    assert set().union(*members(more).values()) == {1, 2, 3, 4}
    assert set().union(*members(less).values()) == {2}


def test_numbers_of_operators_are_never_used_again():
    made = planned({1: bound(Window(40, 5), keys=("k",))})
    gone = planned({}, made)
    assert not gone.operators
    assert min(planned({2: bound(Window(40, 5))}, gone).operators) > max(made.operators)
    assert 18 in planned({2: bound(Window(40, 5))}, NOTHING, last_operator=17).operators


def test_who_comes_while_the_stream_runs_is_answered_from_where_it_is_complete():
    made = planned({1: bound(Window(40, 5))}, observed=Observed())
    more = planned({1: bound(Window(40, 5)), 2: bound(Window(20, 3))}, made)
    (joined,) = [o.members[2] for o in more.operators.values() if 2 in o.members]
    assert (joined.joined, joined.after, joined.until) == (100, 120, END_OF_TIME)


def test_who_was_bound_again_is_in_its_operator_as_it_is_now():
    first, again = bound(Window(40, 5)), bound(Window(40, 5))
    made = planned({1: first})
    other = planned({1: again}, made)
    assert members(other) == members(made)
    assert [o.first.output.of is again for o in other.operators.values()] == [True]


def test_what_one_stream_plans_leaves_others_alone():
    made = planned({1: bound(Window(40, 5))})
    elsewhere = OperatorPlan(7, (Edge("others"),), {9: MemberPlan(asked(9, bound(Window(6, 2))).output)})
    both = replace(made, operators={**made.operators, 7: elsewhere}, last_operator=7)
    after = planned({}, both)
    assert members(after) == {7: {9}}
    joined = both.with_change("events", both, planned({2: bound(Window(4, 2))}, both))
    assert members(joined) == {7: {9}, 8: {2}}


# the past


def past(evaluated, *windows):
    """Of an operator with these windows, each with the instant when it joined."""
    held = {}
    for number, (window, joined) in enumerate(windows):
        after = BEGINNING if joined is None else joined + window.range
        held[number] = MemberPlan(asked(number, bound(window)).output, joined, after)
    return Past(OperatorPlan(1, (), held), evaluated)


def test_slices_tell_as_far_back_as_the_longest_window_keeps_them():
    found = past(100, (Window(40, 5), None))
    assert found.complete_after(bound(Window(20, 10))) == 105 - 40 - 1
    assert found.complete_after(bound(Window(20, 15))) == 105 - 40 - 1


def test_cuts_and_partials_that_were_not_made_tell_nothing():
    found = past(100, (Window(40, 5), None))
    assert found.complete_after(bound(Window(20, 3))) is None
    assert found.complete_after(bound(Window(21, 10))) is None  # begins off the cuts
    assert found.complete_after(bound(Window(20, 10), SUM, MAX)) is None


def test_what_a_late_comer_brought_tells_from_when_it_came():
    found = past(100, (Window(10, 10), None), (Window(60, 4), 70))
    # It is first answered at 132, and keeps what that window needs.
    assert found.complete_after(bound(Window(8, 4))) == 132 - 60 - 1
    assert found.complete_after(bound(Window(20, 10))) == 132 - 60 - 1
    assert past(100, (Window(100, 10), None), (Window(8, 4), 70)).complete_after(bound(Window(8, 4))) == 70


def test_a_long_window_that_is_not_answered_yet_keeps_nothing_from_before_it_came():
    """Its first answer is at 96 + 60: what began before 96 has been dropped with the short one's."""
    found = past(100, (Window(10, 10), None), (Window(60, 10), 96))
    assert found.complete_after(bound(Window(30, 10))) == 110 - 10 - 1


# passes


def test_operators_of_a_class_have_passes_of_their_own_where_that_is_cheaper():
    regular = {n: bound(Window(60 * SECOND, n * SECOND)) for n in range(7, 30)}
    odd, even = bound(Window(60 * SECOND, 13 * SECOND + 7)), bound(Window(60 * SECOND, 2 * SECOND))
    for other, separate in ((odd, True), (even, False)):
        trees = {1: OperatorPlan(1, (Edge("events"),), _held(regular)), 2: OperatorPlan(2, (Edge("events"),), _held({1: other}))}  # fmt: skip
        before = replace(NOTHING, operators=trees, last_operator=2)
        made = planned({**regular, 1: other}, before, Observed())
        (one,) = made.inputs["events"].classes.values()
        assert one.separate == separate
        assert len(made.inputs["events"].passes) == 1 + separate


def _held(queries):
    return {number: MemberPlan(asked(number, query).output) for number, query in queries.items()}


def test_an_operator_that_all_queries_are_about_to_leave_still_costs_what_it_does():
    held = {
        n: replace(m, until=200)
        for n, m in _held({1: bound(Window(60, 20)), 2: bound(Window(60, 30))}).items()
    }
    before = replace(NOTHING, operators={1: OperatorPlan(1, (Edge("events"),), held)}, last_operator=1)
    made = planned({n: m.output.of for n, m in held.items()}, before)
    assert set(made.operators[1].woven.windows) == {Window(60, 20), Window(60, 30)}


# moving to other operators

APART = [Window(100 * s * SECOND, s * SECOND) for s in (2, 4, 3, 9)]


def apart(observed=RAN):
    queries = {n: bound(window) for n, window in enumerate(APART, start=1)}
    trees = {n: OperatorPlan(n, (Edge("events"),), _held({n: q})) for n, q in queries.items()}
    before = replace(NOTHING, operators=trees, last_operator=len(trees))
    return queries, planned(queries, before, observed, Settings(nodes=1))


def test_a_plan_of_the_background_is_taken_over_without_a_gap():
    queries, present = apart()
    (alike,) = {operator.alike for operator in present.operators.values()}
    proposed = rewoven(present, "events", alike, Observed(), Settings(nodes=1, optimizer="max_share"))
    assert proposed is not None
    after = planned(queries, present, proposed=proposed, settings=Settings(nodes=1, optimizer="max_share"))
    for number, query in queries.items():
        spans = sorted((o.members[number].after, o.members[number].until) for o in after.operators.values() if number in o.members)  # fmt: skip
        assert spans[0][0] <= 100
        assert spans[-1][1] == END_OF_TIME
        assert all(one[1] == other[0] for one, other in itertools.pairwise(spans))
        if len(spans) == 2:
            assert spans[0][1] == 100 + query.time_windows[0].range
    later = replace(RAN, evaluated=10**12)
    left = planned(queries, after, later, Settings(nodes=1, optimizer="max_share"))
    assert sorted(map(sorted, members(left).values())) == [[1, 2, 3, 4]]


def test_queries_that_are_moving_do_not_move_back_before_they_have_arrived():
    """Who moved back to an operator that still answers it would be answered by nobody for a while."""
    queries, present = apart()
    (alike,) = {operator.alike for operator in present.operators.values()}
    sharing, separate = Settings(nodes=1, optimizer="max_share"), Settings(nodes=1, optimizer="no_share")
    together = rewoven(present, "events", alike, Observed(), sharing)
    moving = planned(queries, present, proposed=together, settings=sharing)
    assert any(not m.stays for o in moving.operators.values() for m in o.members.values())
    back = planned(queries, moving, replace(RAN, latest=150), separate, proposed=present)
    assert [dict(o.members) for o in back.operators.values()] == [
        dict(o.members) for o in moving.operators.values()
    ]


def test_a_query_that_was_bound_again_gets_passes_for_what_it_means_now():
    made = planned({1: bound(Window(40, 5))})
    again = planned({1: bound(Window(40, 5), where="`events`.`v` > 1")}, made)
    assert [shared.demand.where for shared in again.inputs["events"].passes] == ["`events`.`v` > 1"]


def test_a_plan_for_other_windows_is_not_taken_over():
    queries, present = apart()
    (alike,) = {operator.alike for operator in present.operators.values()}
    proposed = rewoven(present, "events", alike, Observed(), Settings(nodes=1, optimizer="max_share"))
    del queries[1]
    after = planned(queries, present, proposed=proposed)
    assert members(after) == {n: {n} for n in queries}


def test_a_class_that_is_as_it_should_be_is_not_planned_anew():
    _queries, present = apart()
    (alike,) = {operator.alike for operator in present.operators.values()}
    settings = Settings(nodes=1, optimizer="no_share")
    assert rewoven(present, "events", alike, Observed(), settings) is None


# nodes


def draft(operators, seconds=1.0, nodes=None, cores=2, were=1):
    made = Draft("events", {}, Observed(batch_seconds=seconds), Settings(nodes=nodes, cores=cores))
    read = replace(made.read, nodes=were)
    return replace(made, operators={o.id: o for o in operators}, read=read)


def operator(number, node=None):
    return OperatorPlan(number, (Edge("events"),), _held({number: bound(Window(4, 2))}), node=node)


@pytest.mark.parametrize(
    ("cost", "seconds", "were", "expected"),
    [
        (0.6 * LARGE_SECONDS, 1.0, 1, 1),
        (1.2 * LARGE_SECONDS, 1.0, 1, 2),
        (1.1 * SMALL_SECONDS, 1.0, 2, 2),
        (0.9 * SMALL_SECONDS, 1.0, 2, 1),
        (LARGE_SECONDS / 500, 600.0, 1, 2),
        (LARGE_SECONDS / 500, 400.0, 1, 1),
        (100.0, None, 1, 1),  # nobody can know yet
    ],
)
def test_tasks_take_over_where_a_batch_is_much_work_and_keep_it_until_it_is_little(
    cost, seconds, were, expected
):
    assert nodes_for(draft([operator(0)], seconds, were=were), {0: cost}) == expected


@pytest.mark.parametrize(("nodes", "cost"), [(1, 100.0), (3, 0.0)])
def test_a_number_of_nodes_that_was_asked_for_holds(nodes, cost):
    assert nodes_for(draft([operator(0)], nodes=nodes), {0: cost}) == nodes


def test_an_engine_goes_on_where_the_one_before_it_stopped():
    """Between little and much, what is stays."""
    assert nodes_for(draft([operator(0, node=1), operator(1)]), {0: 0.3, 1: 0.1}) == 2


def test_operators_stay_where_they_are_while_that_is_about_even():
    there = [operator(0, 1), operator(1, 1), operator(2, 0)]
    assert goals_of(there, [2.0, 2.0, 4.5], 2) == {0: 1, 1: 1, 2: 0}
    assert goals_of([*there, operator(3)], [2.0, 2.0, 4.5, 1.0], 2) == {0: 1, 1: 1, 2: 0, 3: 1}
    assert goals_of(there, [2.0, 2.0, 0.1], 2) == {0: 0, 1: 1, 2: 0}


def test_operators_that_cannot_share_stay_in_the_driver():
    made = planned({1: bound(Window(4, 2)), 2: bound(RowWindow(4, 2))}, settings=Settings(nodes=2, cores=2))
    where = {next(iter(o.members)): o.node for o in made.operators.values()}
    assert where == {1: 0, 2: None}


def test_a_class_is_planned_anew_when_an_operator_is_too_much_for_a_node_and_once():
    made = planned({1: bound(Window(4, 2)), 2: bound(Window(6, 3))})
    (one,) = made.operators.values()
    assert wants_weaving(made, "events", 2, {}) == one.alike
    assert wants_weaving(made, "events", 2, {one.alike: (2, all_windows([one]))}) is None
    assert wants_weaving(made, "events", 1, {}) is None
    alone = planned({1: bound(Window(4, 2))})
    assert wants_weaving(alone, "events", 2, {}) is None
