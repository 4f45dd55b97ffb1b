"""The operations that each algorithm takes: Table 4 of Shein 2019, counted, and the examples of its text."""

from math import log2

import numpy as np
import pytest

from windrow.aggregates.operations import ADD_INTEGERS, GREATEST
from windrow.final import FINAL_AGGREGATORS, KeyedWindows
from windrow.final.counting import counted
from windrow.slicing import Window

N = 64
log = log2(N)
# amortised, worst case, and worst case with all ranges from 1 to n; None: one range only
TABLE_4 = {
    "recalculate": (N, N, N * N),
    "subtract_on_evict": (2, 2, None),
    "flat_fat": (log, log, N * log),
    "b_int": (2 * log, 2 * log, 2 * N * log),  # the table has log(n), leaving out constant factors
    "flat_fit": (3, N, 3 * N),
    "two_stacks": (3, N, None),
    "daba": (5, 8, None),
    "slick_deque_inv": (2, 2, 2 * N),
    "slick_deque_non_inv": (2, N, N),
    "blocked_two_stacks": (3, N + 1, None),  # not in the table; many ranges are as many structures
}


def operations(name, windows, values, warm=0):
    """Operations at each slide over values of one key, after `warm` identities that came before."""
    algorithm = FINAL_AGGREGATORS[name]
    operation = ADD_INTEGERS if algorithm.refusal(GREATEST.algebra) else GREATEST
    operation, count = counted(operation, 1)
    keyed = KeyedWindows(windows, [(operation, 1)], {operation: algorithm})
    before = operation.empty(warm, 1)
    keyed.append(np.arange(-warm, 0), np.zeros(warm, np.int32), {operation: before}, 1)
    taken = []
    for i, value in enumerate(values):
        keyed.append(np.array([i]), np.zeros(1, np.int32), {operation: np.array([[value]])}, 1)
        for _ in keyed.evaluate(i, i + 1):
            pass
        taken.append(count.take())
    return taken


INPUTS = {
    "random": np.random.default_rng(5).permutation(6 * N),
    "ascending": np.arange(6 * N),
    "descending and a peak": np.r_[np.arange(3 * N, 0, -1), 9 * N, np.arange(3 * N, 1, -1)],
    "constant": np.ones(6 * N, np.int64),
}


@pytest.mark.parametrize("shape", INPUTS)
@pytest.mark.parametrize("name", FINAL_AGGREGATORS)
def test_a_single_range(name, shape):
    amortised, worst, _ = TABLE_4[name]
    # From the third window on the structure has its size; 3N slides are whole periods of N and of N + 1.
    taken = operations(name, [Window(N, 1)], INPUTS[shape])[2 * N :]
    assert max(taken) <= worst
    assert sum(taken) / len(taken) <= amortised


def test_a_bound_of_the_table_that_is_reached():
    """The counts are not below the table by an order of magnitude: it is these algorithms that run."""
    for name, least in (
        ("flat_fat", log),
        ("flat_fit", 2.8),
        ("two_stacks", 2.8),
        ("daba", 4.5),
        ("b_int", log),
    ):
        taken = operations(name, [Window(N, 1)], INPUTS["random"])[2 * N :]
        assert sum(taken) / len(taken) >= least, name
    descending = operations("slick_deque_non_inv", [Window(N, 1)], INPUTS["descending and a peak"])
    assert max(descending) == N - 1  # the oldest of the N values had left


@pytest.mark.parametrize("name", [name for name, (_, _, many) in TABLE_4.items() if many])
def test_all_ranges_at_once(name):
    taken = operations(name, [Window(r, 1) for r in range(1, N + 1)], INPUTS["random"][: 3 * N])[2 * N :]
    assert max(taken) <= TABLE_4[name][2]


def test_the_table_names_every_algorithm():
    assert TABLE_4.keys() == FINAL_AGGREGATORS.keys()
    for name, (_, _, many) in TABLE_4.items():
        assert FINAL_AGGREGATORS[name].many_ranges or many is None


FIGURE_10 = [2, 4, 0, 3, 7, 6, 1, 8, 9, 5]
FIGURE_20 = [6, 5, 0, 1, 3, 4, 2, 7]


def test_example_3_flat_fit_of_one_query():
    taken = operations("flat_fit", [Window(5, 1)], FIGURE_10, warm=4)
    assert taken == [4, 1, 2, 2, 2, 1, 4, 1, 2, 2]
    assert sum(taken) == 21


def test_example_4_flat_fit_of_two_queries():
    """The shorter query adds six operations to the 21; ours reuse what it stored and take fewer."""
    taken = operations("flat_fit", [Window(2, 1), Window(5, 1)], FIGURE_10, warm=4)
    assert sum(taken) <= 21 + 6


def test_example_5_slick_deque_of_two_sums():
    taken = operations("slick_deque_inv", [Window(3, 1), Window(5, 1)], FIGURE_20, warm=5)
    assert taken[1:] == [4] * 7  # two a slide and query; the first slide also takes in what came before


def test_example_6_slick_deque_of_two_maxima():
    taken = operations("slick_deque_non_inv", [Window(3, 1), Window(5, 1)], FIGURE_20)
    assert sum(taken) == 11
