"""Every final aggregator × every operation it accepts × window shapes, against plain recomputation."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.final.affine import AFFINE, compose
from windrow.aggregates.operations import ADD_FLOATS, ADD_INTEGERS, GREATEST, MOMENTS
from windrow.errors import PlanError
from windrow.final import (
    FINAL_AGGREGATORS,
    BlockedTwoStacks,
    KeyedWindows,
    SlickDequeInv,
    SubtractOnEvict,
    TwoStacks,
    refuse_mismatch,
    steps,
)
from windrow.final.steps import Liveness
from windrow.slicing import Window

OPERATIONS = [ADD_INTEGERS, ADD_FLOATS, GREATEST, MOMENTS, AFFINE]
MATRIX = [
    pytest.param(algorithm, operation, id=f"{algorithm.name}-{operation.name}")
    for algorithm in FINAL_AGGREGATORS.values()
    for operation in OPERATIONS
    if algorithm.refusal(operation.algebra) is None
]
MANY_RANGES = [pair for pair in MATRIX if pair.values[0].many_ranges]

windows = st.builds(Window, range=st.integers(1, 25), slide=st.integers(1, 12), offset=st.integers(0, 12))
slices = st.lists(
    st.tuples(st.integers(-60, 200), st.integers(0, 4), st.integers(-100, 100)), min_size=1, max_size=40
)
UNTIL = 240


def recompute(window, entries, operation, until=UNTIL):
    """The obvious answer: for each evaluation and key, fold the entries in the window."""
    answers = {}
    first = window.first_evaluation_after(min(start for start, _, _ in entries))
    for end in range(first, until + 1, window.slide):
        inside = [e for e in entries if end - window.range <= e[0] < end]
        for key in sorted({key for _, key, _ in inside}):
            values = [np.array(value) for _, k, value in inside if k == key]
            answers[end, key] = fold(operation, values)
    return answers


def fold(operation, values):
    if operation is MOMENTS:
        weights = np.array([v[0] for v in values])
        rows = np.repeat([v[1] for v in values], weights.astype(int))
        inner = sum(v[2] for v in values)
        return (weights.sum(), rows.mean(), inner + ((rows - rows.mean()) ** 2).sum())
    if operation is GREATEST:
        return tuple(np.max(values, axis=0))
    if operation is AFFINE:
        return reduce(compose, (tuple(map(int, v)) for v in values))
    return tuple(np.sum(values, axis=0))


def record(operation, value):
    if operation is MOMENTS:
        return (abs(value) % 3 + 1, value / 7, abs(value) / 3)
    if operation is ADD_FLOATS:
        return (value / 3, -value)
    return (value, -value) if operation is not AFFINE else (value % 7, abs(value))


def width(operation):
    """As many columns as `record` gives, so that no kernel is compiled for two widths."""
    return len(record(operation, 1))


def answers_of(algorithm, operation, windows, entries, cuts):
    """Per window, what comes out when the run of evaluations is cut into pieces."""
    entries = sorted({(s, k): (s, k, record(operation, v)) for s, k, v in entries}.values())
    columns = len(entries[0][2])
    keyed = KeyedWindows(windows, [(operation, columns)], {operation: algorithm})
    got = {window: {} for window in windows}
    after = min(s for s, _, _ in entries)
    pending = entries
    for stop in [*sorted(c for c in cuts if c > after), UNTIL]:
        edge = windows[0].last_evaluation_until(stop)
        closed = [e for e in pending if e[0] < edge]
        pending = [e for e in pending if e[0] >= edge]
        append(keyed, operation, closed, columns)
        for window, ends, keys, records in keyed.evaluate(after, stop):
            for end, key, values in zip(ends, keys, records[operation], strict=True):
                assert (end, key) not in got[window]
                got[window][int(end), int(key)] = tuple(values)
        after = stop
    return entries, got


def assert_equal(got, expected):
    assert got.keys() == expected.keys()
    for place, values in expected.items():
        np.testing.assert_allclose(got[place], values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("algorithm", "operation"), MATRIX)
@settings(max_examples=30)  # for each of the matrix
@given(window=windows, entries=slices, cuts=st.lists(st.integers(-60, 230), max_size=4))
def test_equals_recomputation(algorithm, operation, window, entries, cuts):
    """However the run of evaluations is cut into pieces, and however sparse the keys."""
    entries, got = answers_of(algorithm, operation, [window], entries, cuts)
    assert_equal(got[window], recompute(window, entries, operation))


@pytest.mark.parametrize(("algorithm", "operation"), MANY_RANGES)
@settings(max_examples=30)
@given(
    ranges=st.sets(st.integers(1, 40), min_size=2, max_size=4),
    slide=st.integers(1, 12),
    entries=slices,
    cuts=st.lists(st.integers(-60, 230), max_size=4),
)
def test_many_ranges_equal_each_one_recomputed(algorithm, operation, ranges, slide, entries, cuts):
    windows = [Window(length, slide) for length in sorted(ranges)]
    entries, got = answers_of(algorithm, operation, windows, entries, cuts)
    for window in windows:
        assert_equal(got[window], recompute(window, entries, operation))


def append(keyed, operation, entries, columns):
    keyed.append(
        np.array([s for s, _, _ in entries], np.int64),
        np.array([k for _, k, _ in entries], np.int32),
        {operation: np.array([v for _, _, v in entries], operation.dtype).reshape(-1, columns)},
        key_count=5,
    )


REPEATABLE = [pair for pair in MATRIX if pair.values[0].repeatable or not pair.values[1].algebra.rounds]


@pytest.mark.parametrize(("algorithm", "operation"), REPEATABLE)
def test_a_window_that_is_folded_again_gives_the_same_bits(algorithm, operation):
    """The state is a function of the entries held, so a restart changes no bit."""
    window, rng, columns = Window(50, 3), np.random.default_rng(7), width(operation)
    starts = np.arange(0, 400)
    keys = rng.integers(0, 3, 400).astype(np.int32)
    values = {operation: np.abs(rng.normal(1e3, 1e5, (400, columns))).astype(operation.dtype)}
    whole = KeyedWindows([window], [(operation, columns)], {operation: algorithm})
    whole.append(starts, keys, values, 3)
    answers = [r[operation] for _, _, _, r in whole.evaluate(0, 399)]
    first = KeyedWindows([window], [(operation, columns)], {operation: algorithm})
    first.append(starts[:210], keys[:210], {operation: values[operation][:210]}, 3)
    before = [r[operation] for _, _, _, r in first.evaluate(0, 210)]
    second = KeyedWindows([window], [(operation, columns)], {operation: algorithm})
    second.append(*first.held(), 3)
    second.append(starts[210:], keys[210:], {operation: values[operation][210:]}, 3)
    after = [r[operation] for _, _, _, r in second.evaluate(210, 399)]
    assert sorted(map(tuple, np.concatenate(before + after))) == sorted(map(tuple, np.concatenate(answers)))


@pytest.mark.parametrize(("algorithm", "operation"), MATRIX)
def test_a_snapshot_goes_on_to_the_same_bits(algorithm, operation):
    """Also where the operation rounds and the algorithm remembers the order of the past."""
    rng, columns = np.random.default_rng(3), width(operation)
    starts, keys = np.arange(300), rng.integers(0, 4, 300).astype(np.int32)
    values = np.abs(rng.normal(1e3, 1e2, (300, columns))).astype(operation.dtype)
    windows = [Window(7, 2), Window(40, 2)] if algorithm.many_ranges else [Window(40, 2)]
    aggregator = algorithm(operation, columns, len(windows))
    other = algorithm(operation, columns, len(windows))
    liveness = Liveness(windows)
    aggregator.grow(4)
    liveness.grow(4)
    for until in range(10, 300, 10):
        for run in liveness.evaluate(starts, keys, 0, until - 10, until):
            other.restore(aggregator.snapshot())
            went_on = aggregator.slide(values, keys, 0, run)
            restored = other.slide(values, keys, 0, run)
            for mine, its in zip(went_on, restored, strict=True):
                np.testing.assert_array_equal(mine, its)


def test_max_is_refused_on_subtract_on_evict_by_name():
    with pytest.raises(PlanError, match=r"subtract_on_evict cannot compute MAX\(x\): it needs an inverse"):
        refuse_mismatch(SubtractOnEvict, GREATEST, "MAX(x)")


def test_many_ranges_are_refused_on_a_structure_of_one_by_name():
    with pytest.raises(
        PlanError, match=r"two_stacks cannot compute MAX\(x\): it answers one range, and these are 2"
    ):
        refuse_mismatch(TwoStacks, GREATEST, "MAX(x)", ranges=2)


@pytest.mark.parametrize("algorithm", [SubtractOnEvict, SlickDequeInv])
def test_a_window_that_emptied_leaves_nothing_behind(algorithm):
    """Subtraction cannot take an infinity out; when nothing is left, it is gone all the same."""
    keyed = KeyedWindows([Window(5, 1)], [(ADD_FLOATS, 1)], {ADD_FLOATS: algorithm})
    values = np.array([[np.inf], [1.0], [2.0]])
    keyed.append(np.array([0, 20, 21]), np.zeros(3, np.int32), {ADD_FLOATS: values}, 1)
    answers = {}
    for _, ends, _, records in keyed.evaluate(0, 40):
        answers |= dict(zip(ends.tolist(), records[ADD_FLOATS][:, 0].tolist(), strict=True))
    assert answers == dict.fromkeys(range(1, 6), np.inf) | {21: 1.0} | dict.fromkeys(range(22, 26), 3.0) | {
        26: 2.0
    }


def test_entries_that_left_the_window_are_forgotten():
    keyed = KeyedWindows([Window(10, 1)], [(ADD_FLOATS, 1)], {ADD_FLOATS: BlockedTwoStacks})
    for start in range(0, 5_000, 50):
        starts = np.arange(start, start + 50)
        keyed.append(starts, np.zeros(50, np.int32), {ADD_FLOATS: np.ones((50, 1))}, 1)
        for _ in keyed.evaluate(start, start + 50):
            pass
        assert keyed.entries <= 10


def test_a_long_gap_costs_no_evaluations():
    """Two entries a thousand years apart, evaluated every microsecond: only live windows are visited."""
    keyed = KeyedWindows([Window(5, 1)], [(ADD_INTEGERS, 1)], {ADD_INTEGERS: SubtractOnEvict})
    far = 1_000 * 365 * 86_400 * 10**6
    keyed.append(np.array([0, far]), np.zeros(2, np.int32), {ADD_INTEGERS: np.ones((2, 1), np.int64)}, 1)
    ends = np.concatenate([ends for _, ends, _, _ in keyed.evaluate(-1, far + 100)])
    assert ends.tolist() == [*range(1, 6), *range(far + 1, far + 6)]


def test_sums_recover_after_infinity_and_nan_have_left_and_do_not_drift():
    """Ten million slides over values that would ruin a running total."""
    slides, span = 10_000_000, 100
    rng = np.random.default_rng(11)
    values = rng.normal(0, 1, slides) * 10.0 ** rng.integers(-8, 8, slides)
    values[[10, 5_000_000]] = [np.inf, np.nan]
    keyed = KeyedWindows([Window(span, 1)], [(ADD_FLOATS, 1)], {ADD_FLOATS: BlockedTwoStacks})
    keys = np.zeros(slides, np.int32)
    keyed.append(np.arange(slides), keys, {ADD_FLOATS: values.reshape(-1, 1)}, 1)
    sums = np.concatenate([records[ADD_FLOATS][:, 0] for _, _, _, records in keyed.evaluate(0, slides)])
    assert np.isinf(sums[10])
    assert np.isnan(sums[5_000_000])
    for end in [*rng.integers(span, slides, 2_000), 200, 5_000_200, slides]:
        window = values[end - span : end]
        if np.isfinite(window).all():
            assert abs(sums[end - 1] - window.sum()) <= 1e-9 * np.abs(window).sum()


def test_answers_come_in_pieces_when_there_are_many(monkeypatch):
    """No more than fit are made at a time, and none is lost between two pieces."""
    monkeypatch.setattr(steps, "MOST_ANSWERS", 7)
    monkeypatch.setattr(steps, "MOST_EVALUATIONS", 6)
    windows = [Window(3, 1), Window(10, 1)]
    starts = np.repeat(np.arange(40), 4)
    keys, values = np.tile(np.arange(4, dtype=np.int32), 40), np.arange(160).reshape(-1, 1)
    keyed = KeyedWindows(windows, [(ADD_INTEGERS, 1)], {ADD_INTEGERS: BlockedTwoStacks})
    keyed.append(starts, keys, {ADD_INTEGERS: values}, 4)
    pieces = list(keyed.evaluate(0, 40))
    assert max(len(ends) for _, ends, _, _ in pieces) <= 7
    rows = [
        (s, k, (v,)) for s, k, v in zip(starts.tolist(), keys.tolist(), values[:, 0].tolist(), strict=True)
    ]
    for window in windows:
        got = {
            (int(end), int(key)): tuple(record)
            for found, ends, keys, records in pieces
            for end, key, record in zip(ends, keys, records[ADD_INTEGERS], strict=True)
            if found == window
        }
        assert_equal(got, recompute(window, rows, ADD_INTEGERS, until=40))
