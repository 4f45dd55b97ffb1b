"""A plan that is written down and read back is the plan, however queries have come and gone. Without Spark."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.planner.queries import COUNT, MAX, MEDIAN, SUM, bound, selection
from tests.planner.test_planning import RAN, planned
from windrow.planner import Bounds
from windrow.planner.plan import NOTHING
from windrow.planner.settings import Settings
from windrow.runtime.home.records import StoredInput
from windrow.runtime.state.plan_records import change, restored
from windrow.slicing import RowWindow, Window

WINDOWS = st.builds(Window, st.integers(1, 60), st.integers(1, 30))
QUERIES = st.lists(
    st.one_of(
        st.builds(
            lambda window, items, keys, where: bound(window, *items, keys=keys, where=where),
            WINDOWS,
            st.sampled_from([(SUM,), (SUM, MAX), (COUNT,), (MEDIAN,), (MEDIAN, SUM)]),
            st.sampled_from([(), ("k",), ("v",), ("k", "v")]),
            st.sampled_from([None, "`events`.`v` > 1", "`events`.`v` > 2"]),
        ),
        st.builds(
            lambda items, where: selection(*items, where=where),
            st.sampled_from([("`events`.`v`",), ("`events`.`k`", "`events`.`v` + 1")]),
            st.sampled_from([None, "`events`.`v` > 1"]),
        ),
        st.builds(lambda rows, slide: bound(RowWindow(rows, slide)), st.integers(1, 9), st.integers(1, 9)),
    ),
    max_size=8,
)


@given(rounds=st.lists(QUERIES, min_size=1, max_size=4))
def test_a_plan_that_was_written_down_is_the_plan(rounds):
    """However queries have come and gone: what is written, change by change, gives back what runs."""
    before, stored, inputs = NOTHING, {}, {}
    number = 0
    for queries in rounds:
        kept = {n: o.output.of for n, o in list(_outputs(before).items())[::2]}
        for query in queries:
            number += 1
            kept[number] = query
        after = planned(kept, before, replace(RAN, latest=100 + number, evaluated=90 + number))
        changes = change(before, after)
        for gone in changes.gone:
            del stored[gone]
        stored |= {o.id: o for o in changes.operators}
        inputs |= {i.stream: StoredInput(i.stream, json.loads(json.dumps(i.plan))) for i in changes.inputs}
        before = after
    outputs = {n: o.output for n, o in _outputs(before).items()}
    again = restored(inputs.values(), stored.values(), outputs, Settings(nodes=1), before.last_operator)
    assert_same(again, before)
    # And the engine that reads it goes on with it as it is.
    assert planned({n: o.of for n, o in outputs.items()}, again, look=False) is again


def _outputs(made):
    return {n: m for o in made.operators.values() for n, m in sorted(o.members.items())}


def assert_same(one, other):
    """Two plans say the same."""
    assert one.operators.keys() == other.operators.keys()
    for number, mine in one.operators.items():
        theirs = other.operators[number]
        assert dict(mine.members) == dict(theirs.members)
        for what in ("ports", "shared", "node", "price", "cuts", "structures", "choices"):
            assert getattr(mine, what) == getattr(theirs, what), what
    for stream in other.inputs:
        mine, theirs = one.inputs[stream], other.inputs[stream]
        assert [p.sql(Bounds()) for p in mine.passes] == [p.sql(Bounds()) for p in theirs.passes]
        assert [list(p.demands) for p in mine.passes] == [list(p.demands) for p in theirs.passes]
        for what in ("nodes", "rate", "rate_observed"):
            assert getattr(mine, what) == getattr(theirs, what), what
        assert {c.alike: (c.separate, c.groups) for c in mine.classes.values()} == {
            c.alike: (c.separate, c.groups) for c in theirs.classes.values()
        }
