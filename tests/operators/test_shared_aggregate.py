"""Many queries in one state answer as each alone would, also when they come and go and after restores."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.test_window_aggregate import AGGREGATES, partials, recompute, row
from windrow.columns import BEGINNING, END_OF_TIME, QUERY
from windrow.operators.aggregate.shared_aggregate import AnswersFailed, Groups, Member, SharedAggregate
from windrow.slicing import Window

GROUPS = Groups(("k",), (pa.string(),), pa.timestamp("us", "UTC"))
ASKED = [AGGREGATES, AGGREGATES[1:3], (AGGREGATES[4],)]
"""The aggregates of the queries of each shape."""

windows = st.builds(Window, range=st.integers(1, 30), slide=st.integers(1, 15), offset=st.integers(0, 9))


def member(query, window, shape, joined):
    after = BEGINNING if joined is None else joined + window.range
    return Member(query, window, ASKED[shape], after, shape=shape)


def answers(tables, got):
    for shape, table in tables:
        ends = table["window_end"].cast(pa.int64()).to_pylist()
        columns = [table[f"_aggregate{i}"].to_pylist() for i in range(len(ASKED[shape]))]
        whose, keys = table[QUERY].to_pylist(), table["_key0"].to_pylist()
        assert whose == sorted(whose)
        for place, answer in enumerate(zip(whose, ends, keys, strict=True)):
            assert answer not in got
            got[answer] = tuple(column[place] for column in columns)


@given(
    rows=st.lists(row, min_size=1, max_size=40),
    queries=st.lists(st.tuples(windows, st.integers(0, 2), st.integers(0, 4), st.integers(1, 6)), max_size=6),
    stops=st.lists(st.integers(-60, 220), max_size=4),
    restores=st.booleans(),
)
def test_queries_that_come_and_go_answer_like_recomputation(rows, queries, stops, restores):
    """Query i is there from the epoch `first` on, for some epochs; late comers know only later rows."""
    queries = [(Window(7, 5), 0, 0, 9), *queries]  # one stays throughout
    stops = [-1_000, *sorted(stops), END_OF_TIME]
    state, closed, got, want = None, [], {}, {}
    for epoch, (begin, stop) in enumerate(pairwise(stops)):
        present = [
            member(i, window, shape, stops[first] - 1 if first else None)
            for i, (window, shape, first, epochs) in enumerate(queries)
            if first <= epoch < first + epochs and first < len(stops) - 1
        ]
        if state is None:
            state = SharedAggregate(GROUPS, present)
        elif restores:
            opened, evaluated = state.open_slices(), state.evaluated
            state = SharedAggregate(GROUPS, present)
            state.restore(closed, opened, evaluated)
        else:
            state.set_members(present)
        batch = [r for r in rows if begin <= r[0] < stop]
        state.push([partials(batch[::-2])])
        state.push([partials(batch[-2::-2])])
        answers(state.advance(stop), got)
        closed.extend(state.closed_slices())
        for one in present:
            for (end, key), found in recompute(rows, one.window).items():
                if max(begin, one.after) < end <= stop:
                    picked = [found[AGGREGATES.index(a)] for a in one.aggregates]
                    want[one.query, end, key] = tuple(picked)
    assert got == want


def test_what_no_window_needs_is_dropped():
    state = SharedAggregate(GROUPS, [member(0, Window(20, 10), 0, None), member(1, Window(10, 5), 2, None)])
    for batch in range(30):
        state.push([partials([(batch * 10 + i, "a", 1.0, "s") for i in range(10)])])
        list(state.advance(batch * 10 + 10))
        assert state.entries <= 4
        assert state.horizon == batch * 10


def test_a_partial_that_two_tables_have_counts_once():
    """As when the queries of a tree were collected one by one, because one of them failed."""
    state = SharedAggregate(GROUPS, [member(0, Window(10, 10), 0, None), member(1, Window(10, 10), 2, None)])
    rows = partials([(i, "a", 1.0, "s") for i in range(10)])
    state.push([rows.select(["_slice", "k", "count(*)"]), rows])
    got = {}
    answers(state.advance(10), got)
    assert got == {(0, 10, "a"): (10.0, 1.0, "s", "s", 10), (1, 10, "a"): (10,)}


def test_a_failure_names_its_queries():
    broken = AGGREGATES[4]
    state = SharedAggregate(GROUPS, [Member(7, Window(5, 5), (broken,)), Member(9, Window(5, 5), (broken,))])
    state.push([partials([(0, "a", 1.0, "s")])])
    state._groups.layout.answers = lambda aggregate, records: 1 / 0
    with pytest.raises(AnswersFailed) as failed:
        list(state.advance(5))
    assert failed.value.queries == [7, 9]
    assert isinstance(failed.value.error, ZeroDivisionError)


@given(rows=st.lists(row, min_size=1, max_size=40), stop=st.integers(0, 60))
def test_who_comes_late_may_ask_for_windows_that_others_have_behind_them(rows, stop):
    """As long as the slices are held, and cut where it needs them to be."""
    first, late = member(0, Window(30, 5), 0, None), Member(1, Window(15, 10), ASKED[0], stop - 25, back=True)
    state, got = SharedAggregate(GROUPS, [first]), {}
    state.push([partials([r for r in rows if r[0] < stop])])
    list(state.advance(stop))
    state.set_members([first, late])
    answers(state.advance(stop), got)
    state.push([partials([r for r in rows if r[0] >= stop])])
    answers(state.advance(END_OF_TIME), got)
    # What had left the longest window when it came is not held: it begins before the next one.
    held = Window(30, 5).first_evaluation_after(stop) - 30
    for (end, key), found in recompute(rows, late.window).items():
        if end > stop - 25 and end - 15 >= held:
            assert got.pop((1, end, key)) == found
    assert not any(query == 1 and end - 15 >= held for query, end, _ in got)


def test_slices_close_in_order_when_a_query_with_finer_cuts_has_gone():
    fine, coarse = member(0, Window(1, 1), 2, None), member(1, Window(20, 10), 2, None)
    state, got = SharedAggregate(GROUPS, [fine, coarse]), {}
    state.push([partials([(i, "a", 1.0, "s") for i in range(17)])])
    answers(state.advance(17), got)
    state.set_members([coarse])
    state.push([partials([(i, "a", 1.0, "s") for i in range(17, 40)])])
    answers(state.advance(20), got)
    starts = state.closed_slices()[0]["_slice"].to_pylist()
    assert starts == [17]  # behind those that were closed at the finer cuts, not at 10 again
    answers(state.advance(40), got)
    assert {end: n for (query, end, _), (n,) in got.items() if query == 1} == {10: 10, 20: 20, 30: 20, 40: 20}
