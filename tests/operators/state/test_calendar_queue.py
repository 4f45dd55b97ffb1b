"""The calendar queue: whatever comes in whatever order, it is taken by its instant; and Figure 3.6 of Golab 2006."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns import END_OF_TIME
from windrow.operators.state.calendar_queue import CalendarQueue

INSTANTS = st.one_of(
    st.integers(-50, 400),
    st.integers(-50, 400).map(lambda instant: instant * 1_000),
    st.sampled_from([-(10**17), 10**17, END_OF_TIME - 1, END_OF_TIME]),
)
STEPS = st.one_of(
    st.lists(INSTANTS, max_size=30),
    st.tuples(st.integers(1, 40), st.integers(1, 2_000)),
    st.integers(-60, 450).map(lambda instant: instant * 1_000),
    st.integers(-60, 450),
)


@given(steps=st.lists(STEPS, max_size=40))
def test_is_a_sorted_list(steps):
    queue, expected, number = CalendarQueue(), [], 0
    for step in steps:
        if isinstance(step, int):
            due = sorted(entry for entry in expected if entry[0] < step)
            instants, numbers = queue.pop(step)
            assert list(zip(instants.tolist(), numbers.tolist(), strict=True)) == due
            expected = [entry for entry in expected if entry[0] >= step]
        else:
            instants = step if isinstance(step, list) else [step[0] * place % 977 for place in range(step[1])]
            numbers = list(range(number, number + len(instants)))
            number += len(instants)
            queue.push(np.array(instants, np.int64), np.array(numbers, np.int64))
            expected += [one for one in zip(instants, numbers, strict=True) if one[0] < END_OF_TIME]
        assert len(queue) == len(expected)
        assert queue.next() == min((instant for instant, _ in expected), default=END_OF_TIME)


def test_figure_3_6_of_the_thesis():
    queue = CalendarQueue()
    queue.pop(51)  # now is 50
    queue.push(np.arange(51, 101), np.arange(50))
    assert queue.partitions == [(51, 60), (61, 70), (71, 80), (81, 90), (91, 100)]
    assert queue.pop(61)[1].tolist() == list(range(10))
    assert queue.partitions == [(101, 110), (61, 70), (71, 80), (81, 90), (91, 100)]


def test_a_window_moves_through_it_in_order():
    random, queue, taken = np.random.default_rng(0), CalendarQueue(), []
    for now in range(0, 2_000_000, 10_000):
        lives = np.where(random.random(1_000) < 0.01, 100_000_000, random.integers(1, 50_000, 1_000))
        queue.push(now + random.integers(0, 10_000, 1_000) + lives, np.arange(1_000))
        taken += queue.pop(now + 10_000)[0].tolist()
    assert taken == sorted(taken)
    assert len(taken) + len(queue) == 200_000


@pytest.mark.parametrize("most", [3_000, 100_000])
def test_gives_memory_back(most):
    queue = CalendarQueue()
    few = queue.bytes
    queue.push(np.arange(most), np.arange(most))
    assert queue.bytes >= 16 * most
    queue.pop(most - 1)
    assert len(queue) == 1
    assert queue.bytes < 20 * few + 32 * 1024
