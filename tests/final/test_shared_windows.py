"""Any windows over one list of entries, against plain recomputation; however they come, go and are cut up."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.final.affine import AFFINE, compose
from windrow.aggregates.operations import (
    ADD_FLOATS,
    ADD_INTEGERS,
    BIT_XOR,
    GREATEST,
    MOMENTS,
    Algebra,
    Operation,
    of_objects,
)
from windrow.errors import PlanError
from windrow.final.counting import counted
from windrow.final.shared import SharedWindows, evaluations, shared_structure
from windrow.final.shared.entries import JUMP, PREVIOUS, Entries
from windrow.slicing import Window

LISTED = Operation(
    "listed", np.object_, None, Algebra(commutative=False), of_objects(tuple.__add__), interpreted=True
)
"""Python objects whose answer is what they are made of, in order."""

WIDTHS = {ADD_INTEGERS: 2, BIT_XOR: 1, GREATEST: 2, ADD_FLOATS: 2, MOMENTS: 3, AFFINE: 2, LISTED: 1}
KEYS = 5
BEGINNING = -(1 << 62)

windows_of = st.builds(Window, range=st.integers(1, 60), slide=st.integers(1, 40), offset=st.integers(0, 40))
entries_of = st.lists(
    st.tuples(st.integers(-60, 200), st.integers(0, KEYS - 1), st.integers(-100, 100)), max_size=60
).map(lambda made: sorted({(start, key): (start, key, value) for start, key, value in made}.values()))
instants = st.integers(-70, 270)


def records(operation, values):
    """Records of whole numbers."""
    values = np.asarray(values, np.int64)
    if operation is LISTED:
        made = np.empty((len(values), 1), object)
        made[:, 0] = [(int(value),) for value in values]
        return made
    columns = {
        ADD_INTEGERS: (values, -values),
        BIT_XOR: (values,),
        GREATEST: (values, -values),
        ADD_FLOATS: (values / 3, -values),
        MOMENTS: (np.abs(values) % 3 + 1, values / 7, np.abs(values) / 3),
        AFFINE: (values % 7, np.abs(values)),
    }
    return np.stack(columns[operation], axis=1).astype(operation.dtype)


def folded(operation, values):
    """The obvious answer."""
    rows = records(operation, values)
    if operation is LISTED:
        return (tuple(values),)
    if operation is MOMENTS:
        weights = rows[:, 0]
        mean = (weights * rows[:, 1]).sum() / weights.sum()
        return weights.sum(), mean, (rows[:, 2] + weights * (rows[:, 1] - mean) ** 2).sum()
    if operation is AFFINE:
        return reduce(compose, (tuple(map(int, row)) for row in rows))
    fold = {GREATEST: np.max, BIT_XOR: np.bitwise_xor.reduce}.get(operation, np.sum)
    return tuple(fold(rows, axis=0))


def recomputed(windows, entries, after, until):
    """{(end, window, key): values in order}; `after` is the instant of each window."""
    answers = {}
    for number, window in enumerate(windows):
        for end in range(window.first_evaluation_after(max(after[number], -100)), until + 1, window.slide):
            for start, key, value in entries:
                if end - window.range <= start < end:
                    answers.setdefault((end, number, key), []).append(value)
    return answers


def append(shared, entries, operations=WIDTHS):
    starts, keys, values = zip(*entries, strict=True) if entries else ((), (), ())
    rows = {operation: records(operation, values) for operation in operations}
    shared.append(np.array(starts, np.int64), np.array(keys, np.int32), rows, KEYS)


def answered(shared, after, until, most_answers=None):
    """{(end, window, key): {operation: answer}}, having looked at their order."""
    answers, before = {}, None
    for windows, ends, keys, made in shared.evaluate(after, until, most_answers):
        assert len(windows) == len(ends) == len(keys) > 0
        assert most_answers is None or len(windows) <= max(most_answers, KEYS)
        for place, (end, window, key) in enumerate(
            zip(ends.tolist(), windows.tolist(), keys.tolist(), strict=True)
        ):
            assert before is None or before <= (end, window)
            before = end, window
            assert (end, window, key) not in answers
            answers[end, window, key] = {op: tuple(rows[place].tolist()) for op, rows in made.items()}
    return answers


def assert_answers(got, expected):
    assert got.keys() == expected.keys()
    for place, values in expected.items():
        for operation, answer in got[place].items():
            wanted = folded(operation, values)
            if operation.algebra.rounds:
                np.testing.assert_allclose(answer, wanted, rtol=1e-9, atol=1e-9)
            else:
                assert answer == wanted, (operation.name, place)


@given(
    windows=st.lists(windows_of, min_size=1, max_size=6),
    entries=entries_of,
    cuts=st.lists(instants, max_size=4),
    most=st.none() | st.integers(1, 20),
)
def test_equals_recomputation(windows, entries, cuts, most):
    """However the run is cut into epochs and the answers into pieces, and however sparse the keys."""
    shared = SharedWindows(windows, WIDTHS.items())
    got, after, pending = {}, -70, entries
    for until in [*sorted(cuts), 270]:
        append(shared, [entry for entry in pending if entry[0] < until])
        pending = [entry for entry in pending if entry[0] >= until]
        got |= answered(shared, after, until, most)
        after = until
    assert_answers(got, recomputed(windows, entries, [-70] * len(windows), 270))


@given(
    entries=entries_of,
    epochs=st.lists(
        st.tuples(st.integers(0, 80), st.lists(st.tuples(windows_of, st.integers(0, 90)), max_size=4)),
        min_size=1,
        max_size=5,
    ),
)
def test_windows_come_and_go_between_epochs(entries, epochs):
    """A new one may ask for the past as far as entries are held, and disturbs none of the others."""
    shared, until, pending = SharedWindows([], WIDTHS.items()), -70, entries
    kept = Window(150, 7)
    kept_after = until
    for length, newcomers in epochs:
        before, until = until, until + length
        append(shared, [entry for entry in pending if entry[0] < until])
        pending = [entry for entry in pending if entry[0] >= until]
        windows = [kept, *(window for window, _ in newcomers)]
        shared.set_windows(windows)
        held = shared.held()[0]
        complete = [
            max(before - back, held.min() + w.range if len(held) else before) for w, back in newcomers
        ]
        after = [kept_after, *complete]
        got = answered(shared, np.array(after), until)
        assert_answers(got, recomputed(windows, entries, after, until))
        kept_after = until


@pytest.mark.parametrize("spacing", [1, 1_000_003, 1 << 40])
@given(
    windows=st.lists(windows_of, min_size=1, max_size=3),
    stops=st.lists(st.integers(-150, 150), min_size=1, max_size=5),
    seed=st.integers(0, 1 << 32),
)
@settings(max_examples=25)
def test_folding_what_is_held_again_gives_the_same_bits(spacing, windows, stops, seed):
    """At any moment; also where the operation rounds, and whatever was dropped before."""
    rng = np.random.default_rng(seed)
    windows = [Window(w.range * spacing, w.slide * spacing, w.offset * spacing) for w in windows]
    stops = [*sorted(stop * spacing for stop in stops), 220 * spacing]
    starts = np.sort(rng.integers(-150, 150, 600)) * spacing
    keys = rng.integers(0, KEYS, 600) ** 2 // KEYS  # some are frequent
    _, once = np.unique(starts * KEYS + keys, return_index=True)
    starts, keys = starts[once], keys[once].astype(np.int32)
    values = rng.normal(0, 1, (len(starts), 2)) * 10.0 ** rng.integers(-9, 9, (len(starts), 2))

    def new():
        return SharedWindows(windows, [(ADD_FLOATS, 2)])

    def put(shared, begin, end):
        inside = slice(*np.searchsorted(starts, [begin, end]))
        shared.append(starts[inside], keys[inside], {ADD_FLOATS: values[inside]}, KEYS)

    at_once, in_epochs, restarted = new(), new(), new()
    put(at_once, BEGINNING, -BEGINNING)
    expected = answered(at_once, BEGINNING, stops[-1])
    got, again, before = {}, {}, BEGINNING
    for stop in stops:
        put(in_epochs, before, stop)
        put(restarted, before, stop)
        got |= answered(in_epochs, before, stop)
        again |= answered(restarted, before, stop)
        held, restarted = restarted.held(), new()
        restarted.append(*held, KEYS)
        before = stop
    assert got == expected
    assert again == expected


@given(windows=st.lists(windows_of, min_size=1, max_size=4), entries=entries_of.filter(bool))
@settings(max_examples=30)
def test_other_windows_change_no_bit(windows, entries):
    def of(windows):
        shared = SharedWindows(windows, [(ADD_FLOATS, 2)])
        append(shared, entries, [ADD_FLOATS])
        return answered(shared, -70, 270)

    alone = {place: answer for place, answer in of(windows[:1]).items() if place[1] == 0}
    assert alone == {place: answer for place, answer in of(windows).items() if place[1] == 0}


@pytest.mark.parametrize("most", [1, 3, 50])
def test_evaluations_come_in_stretches_when_there_are_many(monkeypatch, most):
    """None is lost or twice between two stretches; those of a microsecond always fit."""
    monkeypatch.setattr(evaluations, "MOST_EVALUATIONS", most)
    windows = [Window(30, 1), Window(7, 3, 2), Window(2, 50), Window(100, 50, 1), Window(1, 1)]
    entries = [(start, start % 3, start) for start in [*range(40), *range(90, 100), 250]]
    shared = SharedWindows(windows, WIDTHS.items())
    append(shared, entries)
    assert_answers(answered(shared, -5, 300), recomputed(windows, entries, [-5] * 5, 300))


def test_a_long_gap_costs_no_evaluations():
    """Two entries a thousand years apart and windows of every microsecond: only live ones are visited."""
    far = 1_000 * 365 * 86_400 * 10**6
    windows = [Window(5, 1), Window(3, 2), Window(4, 7, 3)]
    shared = SharedWindows(windows, [(ADD_INTEGERS, 2)])
    append(shared, [(0, 0, 1), (far, 0, 2)], [ADD_INTEGERS])
    got = answered(shared, BEGINNING, far + 100)
    nearby = recomputed(windows, [(0, 0, 1)], [-1] * 3, 10)
    later = recomputed(windows, [(far % 14, 0, 2)], [-1] * 3, 30)
    shift = far - far % 14
    later = {(end + shift, window, key): values for (end, window, key), values in later.items()}
    assert_answers(got, nearby | later)


def test_slides_without_a_common_multiple_in_reach():
    """Coprime slides: nothing is as long as their least common multiple."""
    slides = [7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73]
    windows = [Window(3 * slide + 1, slide) for slide in slides]
    entries = [(start, start % 2, start) for start in range(150)]
    shared = SharedWindows(windows, WIDTHS.items())
    append(shared, entries)
    assert_answers(answered(shared, 0, 170), recomputed(windows, entries, [0] * len(windows), 170))


def test_each_window_has_its_own_bounds():
    windows = [Window(5, 1), Window(5, 1), Window(5, 1)]
    entries = [(start, 0, start) for start in range(20)]
    shared = SharedWindows(windows, [(ADD_INTEGERS, 2)])
    append(shared, entries, [ADD_INTEGERS])
    got = answered(shared, np.array([0, 10, 3]), np.array([4, 12, 3]))
    assert sorted((window, end) for end, window, _ in got) == [
        *((0, e) for e in (1, 2, 3, 4)),
        (1, 11),
        (1, 12),
    ]


def test_entries_that_no_window_needs_are_forgotten():
    shared = SharedWindows([Window(10, 1), Window(3, 4)], WIDTHS.items())
    for start in range(0, 5_000, 50):
        append(shared, [(at, at % KEYS, at) for at in range(start, start + 50)])
        answered(shared, start, start + 50)
        assert shared.entries <= 10
    assert shared.structure_bytes < 100_000
    shared.set_windows([])
    assert answered(shared, 5_000, 5_000) == {}
    assert shared.entries == 0


def test_sums_wrap_around_and_come_back():
    """Prefixes overflow long before any window does."""
    shared = SharedWindows([Window(2, 1)], [(ADD_INTEGERS, 2)])
    large = np.full((50, 2), (1 << 62) - 1)
    shared.append(np.arange(50), np.zeros(50, np.int32), {ADD_INTEGERS: large}, 1)
    got = np.concatenate([made[ADD_INTEGERS] for *_, made in shared.evaluate(1, 50)])
    assert (got == (1 << 63) - 2).all()


@pytest.mark.parametrize("values", [range(300), range(300, 0, -1), [7] * 300, [3, 1, 2] * 100])
def test_extremes_of_sorted_and_equal_values(values):
    windows = [Window(length, 1 + length % 5) for length in range(1, 300, 17)]
    entries = [(start, 0, value) for start, value in enumerate(values)]
    shared = SharedWindows(windows, [(GREATEST, 2)])
    append(shared, entries, [GREATEST])
    assert_answers(answered(shared, 0, 320), recomputed(windows, entries, [0] * len(windows), 320))


def test_values_that_are_ranked_anew_go_on():
    """A function that keeps the order is applied to all that is held."""
    windows = [Window(40, 3), Window(9, 2)]
    entries = [(start, start % KEYS, start * 7 % 50) for start in range(100)]
    moved = [(start, key, value + 1_000) for start, key, value in entries]
    shared = SharedWindows(windows, [(GREATEST, 2)])
    append(shared, entries[:60], [GREATEST])
    answered(shared, 0, 60)
    shared.rewrite(GREATEST, 0, lambda held: held + 1_000)
    append(shared, moved[60:], [GREATEST])
    got = answered(shared, 60, 100)
    wanted = recomputed(windows, moved, [60, 60], 100)
    assert {place: answer[GREATEST][0] for place, answer in got.items()} == {
        place: max(values) for place, values in wanted.items()
    }


@pytest.mark.parametrize("operation", [ADD_INTEGERS, ADD_FLOATS], ids=lambda operation: operation.name)
def test_memory_of_entries_to_come_is_not_rewritten(operation):
    """It holds nothing yet, and no function knows what to make of that."""
    shared = SharedWindows([Window(40, 3)], [(operation, 2)])
    append(shared, [(start, 0, start) for start in range(60)], [operation])
    answered(shared, 0, 30)
    seen = []
    shared.rewrite(operation, 0, lambda held: seen.append(len(held)) or held)
    assert seen == [60, 30]


def test_keys_of_bursts_among_frequent_ones():
    """The oldest entry of a key in the window may be anywhere in it, behind many of other keys."""
    entries = []
    for start in range(200):
        keys = [0, 1] + [2] * (start % 50 > 30) + [3] * (start % 97 == 60) + [4] * (start > 150)
        entries += [(start, key, start * (key + 1) % 83) for key in keys]
    windows = [Window(length, 1 + length % 7) for length in (3, 20, 41, 90, 120)]
    shared = SharedWindows(windows, WIDTHS.items())
    append(shared, entries)
    assert_answers(answered(shared, 0, 250), recomputed(windows, entries, [0] * 5, 250))


def test_a_new_window_is_answered_from_the_past():
    """All that is held enters anew, and the others go on as if nothing had been."""
    entries = [(start, key, start) for start in range(120) for key in sorted({start // 30, start % KEYS})]
    windows = [Window(100, 10), Window(7, 3)]
    shared = SharedWindows(windows[:1], WIDTHS.items())
    append(shared, [entry for entry in entries if entry[0] < 80])
    answered(shared, 0, 80)
    shared.set_windows(windows)
    append(shared, [entry for entry in entries if entry[0] >= 80])
    got = answered(shared, np.array([80, 5]), np.array([110, 120]))
    wanted = recomputed(windows, entries, [80, 5], 120)
    assert_answers(got, {place: values for place, values in wanted.items() if place[:2] != (120, 0)})


def test_entries_that_are_dropped_before_any_window_saw_them():
    shared = SharedWindows([Window(3, 100)], WIDTHS.items())
    append(shared, [(start, 0, start) for start in range(90)])
    assert answered(shared, 0, 99) == {}
    assert shared.entries == 0
    append(shared, [(98, 0, 1), (99, 1, 2)])
    assert_answers(answered(shared, 99, 100), {(100, 0, 0): [1], (100, 0, 1): [2]})


def test_a_way_back_is_logarithmic_also_when_entries_were_dropped():
    entries = Entries([])
    for begin in range(0, 5_000, 500):
        entries.append(np.arange(begin, begin + 500), np.zeros(500, np.int32), {}, 1)
        entries.drop(entries.before(begin - 2_048))
    for wanted in range(len(entries)):
        place, steps = len(entries) - 1, 0
        while place != wanted:
            far = entries.links[place, JUMP] - entries.base
            place = far if far >= wanted else entries.links[place, PREVIOUS] - entries.base
            steps += 1
        assert steps <= 3 * 12


def test_keys_may_be_many_and_most_of_them_silent():
    shared = SharedWindows([Window(10, 5), Window(25, 10)], [(ADD_INTEGERS, 1), (GREATEST, 1)])
    for start in range(0, 500, 5):
        keys = np.array([start, start + 1, 0], np.int32)
        rows = np.array([[1], [2], [start]])
        shared.append(np.full(3, start), keys, {ADD_INTEGERS: rows, GREATEST: rows}, start + 2)
        for windows, ends, _, made in shared.evaluate(start, start + 5):
            for window, length in enumerate([10, 25]):
                inside = [at for at in range(0, start + 1, 5) if at >= start + 5 - length]
                of_window = windows == window
                assert of_window.sum() in (0, 2 * len(inside) + 1, 2 * len(inside))
                if of_window.any():
                    assert set(ends[of_window]) == {start + 5}
                    assert made[ADD_INTEGERS][of_window].sum() == sum(3 + at for at in inside)


@pytest.mark.parametrize(
    ("operation", "an_entry", "an_answer"),
    [(ADD_INTEGERS, 1, 2), (GREATEST, 2, 0), (ADD_FLOATS, 1, 9)],
    ids=lambda value: getattr(value, "name", None),
)
def test_operations_are_as_few_as_the_cards_say(operation, an_entry, an_answer):
    """512 entries, windows of 1 to 512 of them; a logarithm, on average, where neither trick serves."""
    windows = [Window(length, 3) for length in range(1, 513, 24)]
    operation, count = counted(operation, 1)
    shared = SharedWindows(windows, [(operation, 1)])
    rows = np.random.default_rng(2).integers(0, 1_000, (512, 1)).astype(operation.dtype)
    shared.append(np.arange(512), np.zeros(512, np.int32), {operation: rows}, 1)
    answers = sum(len(ends) for _, ends, _, _ in shared.evaluate(0, 512))
    assert count.take() <= an_entry * 512 + an_answer * answers


def test_the_algebra_says_which_structure_serves():
    chosen = {operation.name: shared_structure(operation).name for operation in WIDTHS}
    assert chosen == {
        "add_integers": "prefix",
        "bit_xor": "prefix",
        "greatest": "searched_deque",
        "add_floats": "time_tree",
        "moments": "time_tree",
        "affine": "time_tree",
        "listed": "time_tree",
    }


def test_an_operation_whose_brackets_count_is_refused():
    alone = Operation("mean_of_two", np.float64, 0.0, Algebra(associative=False), lambda *_: None)
    with pytest.raises(PlanError, match="cannot share mean_of_two: it needs an associative operation"):
        SharedWindows([Window(5, 1)], [(alone, 1)])
