"""The matrix: every final aggregator × operation × window × slide × batch × kind of input, recalculated.

`test_keyed_windows.py` draws windows and sparse keys at random; here are the shapes that algorithms trip
over, with windows around powers of two and longer than the stream is at first.
"""

from functools import cache, reduce

import numpy as np
import pytest

from tests.final.affine import AFFINE, compose
from tests.final.test_keyed_windows import MATRIX
from windrow.aggregates.operations import ADD_FLOATS, ADD_INTEGERS, GREATEST, MIN_INT64, MOMENTS
from windrow.final import KeyedWindows
from windrow.slicing import Window

N = 1_200
WINDOWS = [1, 2, 3, 7, 8, 9, 64, 1000]
rng = np.random.default_rng(23)
noise = rng.normal(0, 1e6, N) * 10.0 ** rng.integers(-6, 6, N)
wild = noise.copy()
wild[rng.integers(0, N, 40)] = np.nan
wild[rng.integers(0, N, 40)] = np.inf
wild[rng.integers(0, N, 40)] = -np.inf
INPUTS = {
    "random": noise,
    "ties": rng.integers(0, 3, N).astype(float),
    "constant": np.full(N, 7.0),
    "ascending": np.arange(N, dtype=float),
    "descending": np.arange(N, 0, -1, dtype=float),
    "nothing but now and then": np.where(rng.random(N) < 0.03, noise, np.nan),  # NaN stands for NULL
    "NaN and infinities": wild,
}


def records(operation, shape):
    """Partials of one row each, in two columns (moments in three); NULL is the identity."""
    values, null = INPUTS[shape], np.zeros(N, bool)
    if shape == "nothing but now and then":
        values, null = np.nan_to_num(values), np.isnan(values)
    if operation is MOMENTS:
        made = np.stack([np.ones(N), values, np.zeros(N)], axis=1)
    elif operation is ADD_FLOATS:
        made = np.stack([values, -values], axis=1)
    else:
        whole = np.nan_to_num(values, nan=2.0**60, posinf=2.0**59, neginf=-(2.0**59)).astype(np.int64)
        made = np.stack([whole, ~whole if operation is GREATEST else -whole], axis=1)
        made = np.abs(made) % 1_000 if operation is AFFINE else made
    return np.where(null[:, None], operation.identity, made).astype(operation.dtype)


@cache
def oracle(operation, shape, window, slide):
    """The answers, and the sums of absolute values that they may be compared by."""
    rows = records(operation, shape)
    answers = np.array(recalculated(operation, rows, window, slide), operation.dtype)
    return answers, np.array(recalculated(ADD_FLOATS, np.abs(rows).astype(float), window, slide))


def recalculated(operation, rows, window, slide):
    ends = range(slide, N + 1, slide)
    if operation is AFFINE:
        return [reduce(compose, map(tuple, rows[max(0, e - window) : e].tolist())) for e in ends]
    if operation is MOMENTS:
        return [moments(rows[max(0, e - window) : e]) for e in ends]
    fold = {ADD_INTEGERS: np.sum, ADD_FLOATS: np.sum, GREATEST: np.max}[operation]
    return [fold(rows[max(0, e - window) : e], axis=0) for e in ends]


def moments(rows):
    values = rows[rows[:, 0] > 0, 1]
    return (len(values), values.mean(), ((values - values.mean()) ** 2).sum()) if len(values) else (0, 0, 0)


def answers(algorithm, operation, rows, window, slide, batch):
    keyed = KeyedWindows([Window(window, slide)], [(operation, rows.shape[1])], {operation: algorithm})
    found = []
    for first in range(0, N, batch):
        last = min(first + batch, N)
        keyed.append(
            np.arange(first, last), np.zeros(last - first, np.int32), {operation: rows[first:last]}, 1
        )
        found += [answer[operation] for _, _, _, answer in keyed.evaluate(first, last)]
    return np.concatenate(found)


SHAPES = [pytest.param(shape, id=shape) for shape in INPUTS]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("algorithm", "operation"), MATRIX)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_equals_recalculation(algorithm, operation, shape):
    exact = operation in (ADD_INTEGERS, GREATEST, AFFINE)
    subtracts = operation is ADD_FLOATS and algorithm.refusal(MOMENTS.algebra) is not None
    if shape == "NaN and infinities" and subtracts:
        pytest.skip("a subtraction cannot take an infinity out; only a hint asks for it with floats")
    rows = records(operation, shape)
    slide = 1 if operation is not AFFINE else 16
    for window in WINDOWS:
        expected, weight = oracle(operation, shape, window, slide)
        for step, batch in ((slide, N), (slide, 160), (7 * slide, N)):
            found = answers(algorithm, operation, rows, window, step, batch)
            wanted, allowed = (a[step // slide - 1 :: step // slide] for a in (expected, weight))
            if subtracts:  # it drifts with all that ever went in
                allowed = np.broadcast_to(np.abs(rows).sum(axis=0), allowed.shape)
            if exact:
                np.testing.assert_array_equal(found, wanted)
            else:
                assert_close(operation, found, wanted, allowed)


def assert_close(operation, found, wanted, allowed):
    """Within 1e-9 of what went in; a window that has only finite values has a finite answer."""
    finite = np.isfinite(wanted).all(axis=1)
    assert not np.isfinite(found[~finite]).all(axis=1).any()
    if operation is MOMENTS:
        allowed = np.stack([allowed[:, 0], allowed[:, 1], allowed[:, 1] ** 2], axis=1)
    assert (np.abs(found[finite] - wanted[finite]) <= 1e-9 * allowed[finite] + 1e-300).all()


def test_the_least_integer_is_no_row_at_all():
    """GREATEST takes the least integer for nothing, and every other for a value."""
    assert records(GREATEST, "nothing but now and then").min() == MIN_INT64
