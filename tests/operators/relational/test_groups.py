"""GROUP BY over rows that know when they end: recomputed over what is alive, and alike for every cut and
restart."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregates import Call, aggregate
from windrow.aggregates.base import ANY_ROW, value_name
from windrow.aggregates.contents import contents_of
from windrow.aggregates.own.call import function_for_queries
from windrow.aggregates.own.function import OwnAggregate, own_function
from windrow.columns import END_OF_TIME, SLICE, aggregate_name
from windrow.logical.tree import Column, Group, Rows
from windrow.operators.relational.base import Around
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.operators import operator_of

DOUBLE, TEXT = pa.float64(), pa.string()
ITEMS = pa.list_(pa.struct([("item", TEXT), ("count", pa.int64())]))
COUNT = aggregate(Call("count", ("*",)), (pa.int32(),), pa.int64())
SUM = aggregate(Call("sum", ("x",)), (DOUBLE,), DOUBLE)
AVG = aggregate(Call("avg", ("x",)), (DOUBLE,), DOUBLE)
MAX = aggregate(Call("max", ("x",)), (DOUBLE,), DOUBLE)
WHOLE = aggregate(Call("sum", ("n",)), (pa.int64(),), pa.int64())
LEAST = aggregate(Call("min", ("s",)), (TEXT,), TEXT)
GREATEST = aggregate(Call("max", ("s",)), (TEXT,), TEXT)
DISTINCT = aggregate(Call("count", ("s",), distinct=True), (TEXT,), pa.int64())
MEDIAN = aggregate(Call("median", ("x",)), (DOUBLE,), DOUBLE)
TOP = aggregate(Call("top_k", ("s",), (2,)), (TEXT,), ITEMS)
DISTINCT_SUM = aggregate(Call("sum", ("n",), distinct=True), (pa.int64(),), pa.int64())
SPREAD = aggregate(Call("stddev_samp", ("x",)), (DOUBLE,), DOUBLE)
SKETCH = aggregate(Call("approx_count_distinct", ("x",), (0.05,)), (DOUBLE,), pa.int64())
LONGEST = aggregate(Call("max_by", ("x", "n")), (DOUBLE, pa.int64()), DOUBLE)
TUPLES = aggregate(Call("count", ("n", "s"), distinct=True), (pa.int64(), TEXT), pa.int64())
RECORDS = (COUNT, SUM, AVG, MAX, WHOLE, LEAST, GREATEST)
COUNTED = (DISTINCT, MEDIAN, TOP, DISTINCT_SUM)
HAS, HASH, PAIR, BOTH = "x is not null", "the hash of x", "n and x", "n and s"
COLUMNS = {
    "k": TEXT,
    "x": DOUBLE,
    "n": pa.int64(),
    "s": TEXT,
    HAS: pa.bool_(),
    HASH: pa.int64(),
    PAIR: pa.struct([("key", pa.int64()), ("value", DOUBLE)]),
    BOTH: pa.struct([("col1", pa.int64()), ("col2", TEXT)]),
}


class Numbers(OwnAggregate):
    """A sum of floats."""

    state = float

    def lift(self, x):
        return x

    def combine(self, a, b):
        return a + b

    def lower(self, s):
        return s


class Objects(OwnAggregate):
    """All values, written down."""

    state = object
    result = "STRING"

    def lift(self, x):
        return (x,)

    def combine(self, a, b):
        return a + b

    def lower(self, s):
        return ",".join(sorted(map(repr, s)))


class Exact(OwnAggregate):
    """How many there are, with an inverse."""

    state = object
    exact = True
    result = "BIGINT"

    def lift(self, x):
        return 1

    def combine(self, a, b):
        return a + b

    def inverse(self, a, b):
        return a - b

    def lower(self, s):
        return s


def own(name, cls):
    """An aggregate of the user's own over x."""
    of_type = {"DOUBLE": DOUBLE, "STRING": TEXT, "BIGINT": pa.int64()}[cls.result]
    return function_for_queries(own_function(name, cls)).make(Call(name, ("x",)), (DOUBLE,), of_type)


def groups_of(node):
    """The operator of a GROUP BY, which asks nobody for expressions."""
    return operator_of(node, Around(lambda rows, expressions: []))


def group(aggregates, *, keys=("k",), slide=None, offset=0, internal=False):
    columns = tuple(Column(name, of_type) for name, of_type in COLUMNS.items())
    leaf = Rows(port=0, stream="s", handed_over=columns, window=None)
    values = {}
    for item in aggregates:
        for partial in item.partials:
            if partial.value != ANY_ROW:
                name = item.call.arguments[0]
                values[value_name(partial)] = column_of(partial, name)
        if contents_of(item) is not None:
            name = BOTH if len(item.call.arguments) > 1 else item.call.arguments[0]
            values[contents_of(item).value_name] = name
    return Group(leaf, keys, aggregates, tuple(values.items()), slide, offset, internal)


def column_of(partial, name):
    """What Spark would compute of each row for a partial."""
    if "xxhash64" in partial.value:
        return HASH
    if partial.value.endswith("IS NOT NULL"):
        return HAS
    return PAIR if "struct(" in partial.value else name


def computed(row):
    """A row with what Spark would compute of it."""
    *_, x, n, s = row
    hashed = None if x is None else hash(x + 0.0)
    pair = None if n is None else {"key": n, "value": x}
    return *row, x is not None, hashed, pair, None if n is None or s is None else {"col1": n, "col2": s}


def changes(rows):
    """Rows are (ts, live, k, x, n, s)."""
    rows = sorted(rows, key=lambda row: row[0])
    ts, live, *columns = zip(*map(computed, rows), strict=True) if rows else [()] * 10
    table = pa.table([pa.array(c, t) for c, t in zip(columns, COLUMNS.values(), strict=True)], list(COLUMNS))
    live = np.array(live, np.int64)
    return Changes(np.array(ts, np.int64), live, live, table)


def told(given):
    """Changes as rows, in an order of their own; floats by their bits."""
    ops = np.ones(len(given), np.int8) if given.op is None else given.op
    columns = [map(spelled, column.to_pylist()) for column in given.rows.columns]
    return list(
        zip(given.ts.tolist(), ops.tolist(), given.live.tolist(), given.exp.tolist(), *columns, strict=True)
    )


def spelled(value):
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value.hex()
    return repr(value) if isinstance(value, list) else value


def played(node, rows, cuts, restarts=(), shuffle=False):
    """All that an operator tells, when time is cut there, and it goes on from what it logged where it
    restarts."""
    state, logged, all_told, after = groups_of(node), {}, [], None
    for cut in [*sorted(set(cuts)), END_OF_TIME]:
        batch = [row for row in rows if (after is None or row[0] >= after) and row[0] < cut]
        all_told += told(state.advance([changes(batch[::-1] if shuffle else batch)], cut))
        after = cut
        for name, table in state.log().items() if cut in restarts or cut % 3 else ():
            logged.setdefault(name, []).append(table)
        if cut in restarts:
            kept = {
                name: [table.filter(pa.compute.greater_equal(table[SLICE], cut)) for table in tables]
                for name, tables in logged.items()
            }
            state = groups_of(node)
            state.restore(kept if cut % 2 else logged, cut)
    return sorted(all_told, key=repr)


def answer(item, rows):
    """What an aggregate is of rows, by its definition."""
    column = {"x": 3, "n": 4, "s": 5}.get(item.call.arguments[0])
    if column is None:
        return len(rows)
    values = [row[column] for row in rows if row[column] is not None]
    order = sorted(set(values), key=lambda value: value.encode() if isinstance(value, str) else value)
    match item.call.function:
        case "count":
            return len(order)
        case "sum":
            return (sum(set(values)) if item.call.distinct else sum(values)) if values else None
        case "avg":
            return sum(values) / len(values) if values else None
        case "max":
            return order[-1] if values else None
        case "min":
            return order[0] if values else None
        case "median":
            middle = sorted(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]
            return sum(middle) / len(middle) if values else None
        case "top_k":
            counts = Counter(values)
            best = sorted(order, key=lambda value: (-counts[value], value.encode()))[:2]
            return repr([{"item": value, "count": counts[value]} for value in best])
    raise AssertionError(item)


def recomputed(aggregates, rows, instant):
    """The answer at an instant, by group."""
    alive = [row for row in rows if row[0] <= instant < row[1]]
    return {
        key: tuple(spelled(answer(item, [row for row in alive if row[2] == key])) for item in aggregates)
        for key in {row[2] for row in alive}
    }


def at_evaluations(aggregates, rows, slide, offset, cuts, *, internal=False):
    """What has to be told with SLIDE; what never ends is told up to the last cut, and once behind all changes."""
    instants = [instant for row in rows for instant in row[:2] if instant < END_OF_TIME]
    settled = max(instants, default=0) + slide
    found = []
    for end in range(-60, max(settled, *cuts, 0) + 1):
        if (end - offset) % slide == 0:
            live = END_OF_TIME if internal else end + slide - 1
            answers = recomputed(aggregates, rows, end - 1)
            found += [(end - 1, 1, live, live, key, *values) for key, values in answers.items()]
    return sorted(found, key=repr)


def at_changes(aggregates, rows, *, internal=False):
    """What has to be told without SLIDE."""
    found, before = [], {}
    for instant in sorted({instant for row in rows for instant in row[:2]} - {END_OF_TIME}):
        answers = recomputed(aggregates, rows, instant)
        for key in {*before, *answers}:
            old, new = before.get(key), answers.get(key)
            if old != new:
                ever = (END_OF_TIME, END_OF_TIME)
                found += [(instant, -1, *ever, key, *old)] if old is not None and not internal else []
                found += [(instant, 1, *ever, key, *new)] if new is not None else []
        before = answers
    return sorted(found, key=repr)


keys = st.sampled_from(["a", "b", None])
exact = st.one_of(st.none(), st.integers(-8, 8).map(lambda number: number / 4))
rough = st.one_of(st.none(), st.sampled_from([0.1, -0.3, 1e16, -0.0, 0.0, 1 / 3, 7.7]))
wild = st.one_of(rough, st.sampled_from([math.nan, math.inf, -math.inf]))
whole = st.one_of(st.none(), st.integers(-(1 << 40), 1 << 40))
text = st.one_of(st.none(), st.text("aébZ", max_size=2))


def rows_of(values, most=40):
    lives = st.one_of(st.integers(0, 100), st.sampled_from([3, 30, END_OF_TIME]))
    row = st.tuples(st.integers(-50, 90), lives, keys, values, whole, text)
    alive = row.map(lambda one: (one[0], one[1] if one[1] == END_OF_TIME else one[0] + one[1], *one[2:]))
    return st.lists(alive, max_size=most)


cuts = st.lists(st.integers(-60, 200), max_size=6)


@pytest.mark.parametrize(
    "aggregates", [RECORDS, COUNTED, (COUNT, WHOLE), ()], ids=["records", "counted", "totals", "none"]
)
@given(rows=rows_of(exact), cuts=cuts, restarts=cuts, internal=st.booleans())
def test_every_change_is_told(aggregates, rows, cuts, restarts, internal):
    """Whatever comes and goes, cut anywhere, and restarted anywhere."""
    node = group(aggregates, internal=internal)
    got = played(node, rows, [*cuts, *restarts], restarts)
    assert got == at_changes(aggregates, rows, internal=internal)


@pytest.mark.parametrize(
    "aggregates", [RECORDS, COUNTED, (COUNT, WHOLE), ()], ids=["records", "counted", "totals", "none"]
)
@given(
    rows=rows_of(exact),
    cuts=cuts,
    restarts=cuts,
    slide=st.integers(1, 25),
    offset=st.integers(0, 9),
    internal=st.booleans(),
)
def test_every_evaluation_is_told(aggregates, rows, cuts, restarts, slide, offset, internal):
    """The same with SLIDE."""
    node = group(aggregates, slide=slide, offset=offset, internal=internal)
    cuts = [*cuts, *restarts]
    assert played(node, rows, cuts, restarts) == at_evaluations(
        aggregates, rows, slide, offset, cuts, internal=internal
    )


crowded = st.tuples(
    st.integers(-4, 12),
    st.sampled_from([1, 2, 3, 5, 8, 13, 21]),
    st.sampled_from(["a", "b"]),
    st.sampled_from([0.1, -0.3, 1 / 3, 7.7, 1e16, -1e16, 1e-9]),
).map(lambda one: (one[0], one[0] + one[1], *one[2:], None, None))
"""Many rows at few instants, whose sums depend on the order in which they are added up."""


@pytest.mark.parametrize("slide", [None, 3])
@given(
    rows=st.lists(crowded, min_size=20, max_size=60),
    cuts=st.lists(st.integers(-4, 30), max_size=6),
    restarts=st.lists(st.integers(-4, 30), min_size=1, max_size=6),
)
def test_floats_have_the_same_bits_for_every_cut(slide, rows, cuts, restarts):
    """Sums that round, of rows in any order within their instants."""
    node = group((SUM, SPREAD), slide=slide)
    at_once = played(node, rows, ())
    assert played(node, rows, cuts) == at_once
    assert played(node, rows, [*cuts, *restarts], restarts, shuffle=True) == at_once


@pytest.mark.parametrize("slide", [None, 7])
@given(rows=rows_of(wild), restarts=cuts)
def test_what_is_no_number_is_told_alike_for_every_cut(slide, rows, restarts):
    """NaN, infinities and zeros with signs."""
    node = group((SUM, AVG, MAX, MEDIAN), slide=slide)
    assert played(node, rows, [*restarts, 200], restarts, shuffle=True) == played(node, rows, [200])


def test_the_largest_in_a_window():
    """Figure 1.1: 61 comes and 75 is still there; when it goes, 73 is the largest."""
    values = {0: 75, 10: 68, 20: 73, 30: 64, 55: 61}
    rows = [(at, at + 60, None, float(value), None, None) for at, value in values.items()]
    state = groups_of(group((MAX,), keys=()))
    first = state.advance([changes(rows[:4])], 50)
    assert first.rows.to_pydict() == {aggregate_name(0): [75.0]}
    assert len(state.advance([changes(rows[4:])], 60)) == 0
    assert state.next_change() == 60
    gone = state.advance([changes([])], 61)
    assert (gone.ts.tolist(), gone.op.tolist()) == ([60, 60], [-1, 1])
    assert gone.rows.to_pydict() == {aggregate_name(0): [75.0, 73.0]}


@given(rows=rows_of(rough), restarts=cuts)
def test_states_in_python_with_slide(rows, restarts):
    """The user's own, of numbers and of objects, and sketches: whatever cannot be taken back is folded again."""
    aggregates = (own("numbers", Numbers), own("objects", Objects), own("exact", Exact), SKETCH)
    node = group(aggregates, slide=10)
    at_once = played(node, rows, [200])
    assert played(node, rows, [*restarts, 200], restarts, shuffle=True) == at_once
    for ts, _, _, _, key, numbers, objects, exact, sketch in at_once:
        values = [
            row[3] for row in rows if row[0] <= ts < row[1] and spelled(row[2]) == key and row[3] is not None
        ]
        total = float(sum(map(Fraction, values)))
        assert math.isclose(float.fromhex(numbers or "0x0p0"), total, rel_tol=1e-9, abs_tol=8.0)
        assert objects == (None if not values else ",".join(sorted(map(repr, values))))
        assert exact == (None if not values else len(values))
        assert sketch == len({value + 0.0 for value in values})


@given(rows=rows_of(exact), slide=st.sampled_from([None, 9]), restarts=cuts)
def test_values_by_other_values(rows, slide, restarts):
    """MAX_BY, and different tuples: what rows have to give is a struct there."""
    node = group((LONGEST, TUPLES), slide=slide)
    found = {told[4]: told for told in played(node, rows, [*restarts, 95], restarts) if told[0] < 95}
    for key, (ts, op, _, _, _, longest, tuples) in found.items():
        mine = [row for row in rows if row[0] <= ts < row[1] and spelled(row[2]) == key]
        if op < 0:
            continue
        pairs = [(row[4], row[3]) for row in mine if row[4] is not None]
        if pairs:
            best = max(pairs, key=lambda pair: (pair[0], pair[1] is not None, pair[1] or 0.0))
            assert longest == (None if best[1] is None else spelled(best[1]))
        assert tuples == len({(row[4], row[5]) for row in mine if row[4] is not None and row[5] is not None})


@pytest.mark.parametrize("slide", [None, 50])
def test_many_rows_at_once_are_told_as_few_at_a_time(slide):
    """More than fits into what kernels write at a time."""
    random = np.random.default_rng(7)
    ts = np.sort(random.integers(0, 2_000, 40_000))
    rows = pa.table(
        {
            "k": pa.array(random.integers(0, 300, len(ts)).astype(str)),
            "x": random.choice([0.1, -0.3, 1 / 3, 1e9], len(ts)),
            "s": pa.array(random.integers(0, 50, len(ts)).astype(str)),
        }
    )
    live = ts + random.integers(1, 1_000, len(ts))
    given = Changes(ts, live, live, rows)

    def told_at(cuts):
        state, tables, begin = groups_of(group((SUM, MAX, GREATEST), slide=slide)), [], 0
        for cut in [*cuts, END_OF_TIME]:
            end = int(np.searchsorted(ts, cut))
            some = state.advance([given.slice(begin, end)], cut)
            ops = np.ones(len(some), np.int8) if some.op is None else some.op
            tables.append(some.rows.append_column("ts", pa.array(some.ts)).append_column("op", pa.array(ops)))
            begin = end
        table = pa.concat_tables(tables)
        return table.sort_by([(name, "ascending") for name in ("ts", "_key0", "op")])

    at_once = told_at([])
    assert len(at_once) > 12_000
    assert told_at(range(0, 3_000, 250)).equals(at_once)


@pytest.mark.parametrize("restarts", [(), (15,)])
def test_what_never_ends_is_answered_until_nothing_happens_any_more(restarts):
    """Also where what happens last is a row that no evaluation sees."""
    rows = [(0, END_OF_TIME, "a", None, None, None), (12, 14, "a", None, None, None)]
    got = played(group((COUNT,), slide=10), rows, [15], restarts)
    assert [(ts, count) for ts, *_, count in got] == [(19, 1), (9, 1)]


def test_zeros_and_nan_are_one_group():
    """As in Spark's GROUP BY; a group is written as no row need have it."""
    rows = [(at, at + 100, "a", x, 1, None) for at, x in enumerate([-0.0, 0.0, math.nan, -math.nan, None])]
    got = groups_of(group((COUNT,), keys=("x",), slide=10)).advance([changes(rows)], 10)
    assert sorted(
        zip(map(spelled, got.rows["_key0"].to_pylist()), got.rows[aggregate_name(0)].to_pylist()), key=repr
    ) == [
        ("0x0.0p+0", 2),
        ("NaN", 2),
        (None, 1),
    ]


@pytest.mark.parametrize("slide", [None, 10])
def test_a_state_is_of_the_size_of_what_is_alive(slide):
    """Groups, values and ranks that nobody has any more are forgotten, and so is what was logged of them."""
    state, most, entries = groups_of(group((GREATEST, MEDIAN, DISTINCT), slide=slide)), [], []
    for turn in range(60):
        rows = [
            (
                turn * 100 + i // 40,
                turn * 100 + 150,
                f"{turn} {i % 500}",
                float(turn * 2000 + i),
                i,
                f"{turn} {i}",
            )
            for i in range(2000)
        ]
        state.advance([changes(rows)], (turn + 1) * 100)
        state.log()
        most.append(state.bytes)
        entries.append(state.entries)
    assert max(entries[30:]) <= max(entries[:30])
    assert max(most[30:]) <= 1.1 * max(most[:30])


@pytest.mark.parametrize("slide", [None, 7])
@given(rows=rows_of(exact, most=15))
def test_when_it_changes_next(slide, rows):
    """Nothing is told before; with SLIDE there is something to tell then."""
    state = groups_of(group((COUNT,), slide=slide))
    state.advance([changes(rows)], 100)
    until = 100
    while (at := state.next_change()) < 300:
        assert at >= until
        assert not len(state.advance([changes([])], at))
        told_then = state.advance([changes([])], at + 1)
        assert set(told_then.ts.tolist()) <= {at}
        assert slide is None or len(told_then)
        until = at + 1


def test_rows_alike_of_a_slot_take_no_more_than_one():
    """However many rows never end, the state is of the size of their values."""
    state, bytes_after = groups_of(group((MEDIAN, SUM), slide=10)), []
    for turn in range(40):
        rows = [(turn * 10 + i % 10, END_OF_TIME, "a", float(i % 7), None, None) for i in range(1_000)]
        state.advance([changes(rows)], (turn + 1) * 10)
        state.log()
        bytes_after.append(state.bytes)
    assert state.entries == 1
    assert max(bytes_after[20:]) <= 1.1 * max(bytes_after[:20])
