"""The FIFO ring: what comes in order is taken in order, a chunk at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns import END_OF_TIME
from windrow.errors import InputError
from windrow.operators.state.fifo_ring import FifoRing

STEPS = st.lists(st.one_of(st.lists(st.integers(0, 9), max_size=9), st.integers(-9, 200)), max_size=20)


@given(steps=STEPS)
def test_is_a_queue(steps):
    """A step is how much later each of some instants is than the one before, or until when is taken."""
    ring, expected, last, number = FifoRing(), [], -10, 0
    for step in steps:
        if isinstance(step, int):
            instants, numbers = ring.pop(step)
            assert list(zip(instants.tolist(), numbers.tolist(), strict=True)) == [
                e for e in expected if e[0] < step
            ]
            expected = [entry for entry in expected if entry[0] >= step]
        else:
            instants = last + np.cumsum([0, *step])[1:]
            ring.push(instants, np.arange(number, number + len(step)))
            expected += list(zip(instants.tolist(), range(number, number + len(step)), strict=True))
            last, number = int(instants[-1]) if step else last, number + len(step)
        assert len(ring) == len(expected)
        assert ring.next() == (expected[0][0] if expected else END_OF_TIME)


def test_refuses_what_is_out_of_order():
    ring = FifoRing()
    ring.push(np.array([5, 7]), np.array([0, 1]))
    with pytest.raises(InputError, match="in the order in which it comes"):
        ring.push(np.array([6]), np.array([2]))
    with pytest.raises(InputError, match="CalendarQueue"):
        ring.push(np.array([9, 8]), np.array([2, 3]))


def test_gives_memory_back():
    ring = FifoRing()
    ring.push(np.arange(1_000), np.arange(1_000))
    ring.push(np.arange(1_000, 2_000), np.arange(1_000))
    ring.pop(1_500)
    assert ring.bytes == 16 * 500
