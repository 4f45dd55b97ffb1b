"""Each kind of pass is read back from its record, through JSON, as the pass that it was. Without Spark."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from tests.planner.queries import MEDIAN, SUM, bound, selection
from windrow.aggregates import Call
from windrow.aggregates.own.call import function_for_queries
from windrow.aggregates.own.function import OwnAggregate, own_function
from windrow.planner import Bounds, Experience, Tally, plan_passes, share_passes
from windrow.planner.passes.recorded import KINDS, from_record
from windrow.slicing import RowWindow, Window


class Total(OwnAggregate):
    """A sum, by a class of the user's."""

    state = ("total",)

    def lift(self, value):
        return value

    def combine(self, one, other):
        return one + other

    def lower(self, state):
        return state


OWN = function_for_queries(own_function("own", Total)).make(
    Call("own", ("`events`.`v`",)), (pa.int32(),), pa.float64()
)
WINDOW = Window(40, 5)
DEMANDS = {
    "grouped": {1: bound(WINDOW)},
    "values": {1: bound(WINDOW, MEDIAN)},
    "rows": {1: bound(RowWindow(10, 5))},
    "selected": {1: selection("`events`.`v`")},
    "lifted": {1: bound(WINDOW, OWN), 2: bound(Window(20, 10), OWN)},
    "woven": {1: bound(WINDOW, keys=("k",)), 2: bound(WINDOW, where="`events`.`v` > 1"), 3: bound(WINDOW)},
}
"""What needs a pass of each kind, and of no other."""


def read_back(shared, demands):
    """A pass, from the record that a catalog has of it."""
    return from_record(json.loads(json.dumps({"for": list(shared.demands), **shared.record})), demands)


def test_there_is_a_case_for_each_kind():
    assert DEMANDS.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", DEMANDS)
def test_a_pass_is_read_back_as_it_was(kind):
    demands = DEMANDS[kind]
    (shared,) = plan_passes(demands)
    assert shared.record["kind"] == kind
    # Others that are in the plan do not get into it.
    again = read_back(shared, {**demands, 9: bound(Window(7, 7), SUM, MEDIAN)})
    assert type(again) is type(shared)
    assert again.record == shared.record
    assert list(again.demands) == list(shared.demands)
    assert again.sql(Bounds()) == shared.sql(Bounds())


def test_values_that_were_not_counted_are_not_counted_at_first():
    demands = DEMANDS["values"]
    (counting,) = share_passes(demands)
    again = read_back(replace(counting, row_by_row=True), demands)
    recalled = again.recalled(Experience())
    assert plan_passes(demands, recalled) == [again]
    assert plan_passes(demands, again.learned(pa.table({}), Tally(None, 9, 0, 0), recalled)) == [counting]


def test_a_pass_for_somebody_who_is_gone_is_not_read_back():
    (shared,) = plan_passes(DEMANDS["woven"])
    with pytest.raises(KeyError):
        read_back(shared, {1: DEMANDS["woven"][1]})


def test_a_kind_that_nobody_knows_is_not_read_back():
    with pytest.raises(KeyError):
        from_record({"kind": "sorted", "for": [1], "partials": [0]}, DEMANDS["grouped"])
