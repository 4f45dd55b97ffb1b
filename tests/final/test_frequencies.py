"""All questions about the values in a window, against counting them again."""

from collections import Counter
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.aggregates.questions import Commonest, Distinct, DistinctTotals, Each, OverRest, Quantile
from windrow.final.steps import Liveness
from windrow.final.values import pair_numbers
from windrow.final.values.frequencies import Frequencies
from windrow.final.values.frequency_trees import REST
from windrow.final.values.pair_numbers import FEWEST_PURGED, PairNumbers
from windrow.slicing import Window

QUESTIONS = [
    Distinct(), Quantile(0.5), Commonest(1), Commonest(3), OverRest(), Each(), DistinctTotals(), Quantile(0.9),
    Quantile(0.0), Quantile(1.0),
]  # fmt: skip
UNTIL = 240
KEYS = 40

windows = st.builds(
    lambda ranges, slide, offset: [Window(range_, slide, offset) for range_ in sorted(ranges)],
    st.sets(st.integers(1, 40), min_size=1, max_size=3),
    st.integers(1, 12),
    st.integers(0, 12),
)
# Start, key, value (REST for none, None for a slice that has no count at all), count.
entry = st.tuples(
    st.integers(-60, 200),
    st.sampled_from([0, 1, 2, KEYS - 1]),
    st.one_of(st.integers(0, 12), st.integers(0, 500), st.sampled_from([REST, None])),
    st.integers(1, 5),
)
dense = st.tuples(st.integers(-10, 20), st.integers(0, 1), st.integers(-1, 12), st.integers(1, 3))
entries = st.one_of(st.lists(entry, min_size=1, max_size=60), st.lists(dense, min_size=1, max_size=100))
cut = st.tuples(st.integers(-60, 230) | st.integers(-9, 20), st.sampled_from(["go on", "restart"]))


def weigh(values):
    """Weights of which sums wrap."""
    return np.array([(value + 1, value % 8 * 2**60 + 7) for value in values], np.int64).reshape(-1, 2)


class Codes:
    """Values have codes in the order in which they come."""

    def __init__(self):
        self.values = []

    def of(self, values):
        self.values += sorted({*values} - {REST, *self.values}, key=lambda value: value * 7919 % 503)
        return np.array([REST if value == REST else self.values.index(value) for value in values], np.int32)

    def ranks(self):
        return np.argsort(np.argsort(self.values))


def append(frequencies, rows, codes):
    frequencies.append(
        np.array([start for start, *_ in rows], np.int64),
        np.array([key for _, key, *_ in rows], np.int32),
        codes.of([value for _, _, value, _ in rows]),
        np.array([count for *_, count in rows], np.int64),
    )


def answers_of(questions, windows, rows, cuts):
    """By window, end and key, the answers as values, when the run is cut into pieces."""
    rows = sorted(rows, key=lambda row: row[0])
    slices = sorted({row[:2] for row in rows})
    starts, keys = np.array([s for s, _ in slices]), np.array([k for _, k in slices], np.int32)
    pending = [row for row in rows if row[2] is not None]
    liveness, frequencies, codes = Liveness(windows), Frequencies(windows, questions), Codes()
    liveness.grow(KEYS)
    after, got = int(starts[0]), {}
    for stop, then in [*sorted(c for c in cuts if c[0] > after), (UNTIL, "go on")]:
        edge = windows[0].last_evaluation_until(stop)
        closed = int(np.searchsorted(starts, edge))
        append(frequencies, [row for row in pending if row[0] < edge], codes)
        pending = [row for row in pending if row[0] >= edge]
        for steps in liveness.evaluate(starts[:closed], keys[:closed], 0, after, stop):
            found = frequencies.slide(steps, codes.ranks(), weigh(codes.values))
            for r, window in enumerate(windows):
                places = zip(steps.answer_ends(r).tolist(), steps.keys(r).tolist(), strict=True)
                for i, place in enumerate(places):
                    assert (window, *place) not in got
                    of_answer = [at_answer(i, q, a, codes) for q, a in zip(questions, found[r], strict=True)]
                    got[window, *place] = of_answer
        after = stop
        if then == "restart":
            stored = [array.copy() for array in frequencies.held()]
            frequencies = Frequencies(windows, questions)
            frequencies.append(*stored)
    return got


def at_answer(i, question, answers, codes):
    def values(codes_):
        return [codes.values[code] if code >= 0 else None for code in codes_]

    match question:
        case Distinct():
            return int(answers[i])
        case DistinctTotals():
            return answers[i].tolist()
        case Quantile():
            return (
                int(answers.total[i]),
                *values([answers.low[i], answers.high[i]]),
                float(answers.fraction[i]),
            )
    part = slice(answers.offsets[i], answers.offsets[i + 1])
    listed = list(zip(values(answers.codes[part]), answers.counts[part].tolist(), strict=True))
    return (listed, int(answers.rest[i])) if isinstance(question, OverRest) else listed


def recompute(questions, windows, rows):
    """The obvious answers: for each evaluation and key, count the values in the window."""
    answers = {}
    first = windows[0].first_evaluation_after(min(row[0] for row in rows))
    for window in windows:
        for end in range(first, UNTIL + 1, window.slide):
            inside = [row for row in rows if end - window.range <= row[0] < end]
            for key in {row[1] for row in inside}:
                counter = Counter()
                for _, k, value, count in inside:
                    if k == key and value is not None:
                        counter[value] += count
                rest = counter.pop(REST, 0)
                answers[window, end, key] = [answer(question, counter, rest) for question in questions]
    return answers


def answer(question, counter, rest):
    multiset = sorted(counter.elements())
    ranking = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    match question:
        case Distinct():
            return len(counter)
        case DistinctTotals():
            return weigh(counter).sum(axis=0).tolist()
        case Quantile(p):
            if not multiset:
                return (0, None, None, 0.0)
            position = p * (len(multiset) - 1)
            low, high = multiset[floor(position)], multiset[ceil(position)]
            return (len(multiset), low, high, position - floor(position))
        case Commonest(k):
            return ranking[:k]
        case OverRest():
            return ([item for item in ranking if item[1] > rest], rest)
        case Each():
            return sorted(counter.items())


@settings(max_examples=200)
@given(windows=windows, rows=entries, cuts=st.lists(cut, max_size=8))
def test_equals_recomputation(windows, rows, cuts):
    """However the run is cut, and whatever happens between two pieces."""
    assert answers_of(QUESTIONS, windows, rows, cuts) == recompute(QUESTIONS, windows, rows)


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@settings(max_examples=20)
@given(windows=windows, rows=entries, cuts=st.lists(cut, max_size=4))
def test_each_question_alone(question, windows, rows, cuts):
    """With no other structures than its own."""
    assert answers_of([question], windows, rows, cuts) == recompute([question], windows, rows)


@settings(max_examples=50)
@given(windows=windows, rows=entries, cuts=st.lists(cut, max_size=8))
def test_purging_at_every_opportunity_changes_nothing(windows, rows, cuts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_numbers, "FEWEST_PURGED", 0)
        assert answers_of(QUESTIONS, windows, rows, cuts) == recompute(QUESTIONS, windows, rows)


@pytest.mark.parametrize("question", [Distinct(), Commonest(2)], ids=str)
def test_values_that_do_not_come_back_are_forgotten(question):
    """A million different values, of which a window has ten thousand."""
    window, n = Window(10, 1), 1_000
    frequencies, liveness = Frequencies([window], [question]), Liveness([window])
    liveness.grow(1)
    starts, zeros = np.arange(1_000), np.zeros(1_000, np.int32)
    ranks, sizes = np.arange(n * 1_000), []
    for call in range(20):
        fresh = slice(call * 50, (call + 1) * 50)
        frequencies.append(
            np.repeat(starts[fresh], n), np.repeat(zeros[fresh], n),
            np.arange(call * 50 * n, (call + 1) * 50 * n, dtype=np.int32), np.ones(50 * n, np.int64),
        )  # fmt: skip
        end = (call + 1) * 50
        for steps in liveness.evaluate(starts[:end], zeros[:end], 0, end - 50, end):
            frequencies.slide(steps, ranks)
        assert frequencies.entries == 10 * n
        sizes.append(frequencies.bytes)
    assert max(sizes[10:]) <= max(sizes[:10])


def test_pairs_are_purged_when_most_are_unused():
    numbers, pairs = PairNumbers(), np.arange(3 * FEWEST_PURGED, dtype=np.int32)
    first = numbers.use(pairs, pairs)
    assert numbers.use(pairs[::3], pairs[::3]).tolist() == first[::3].tolist()
    assert not numbers.worth_purging
    numbers.release(first)
    assert numbers.worth_purging
    assert numbers.purge().tolist() == first[::3].tolist()
    assert not numbers.worth_purging
    assert numbers.use(pairs[::3], pairs[::3]).tolist() == list(range(FEWEST_PURGED))
