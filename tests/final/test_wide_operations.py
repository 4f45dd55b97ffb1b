"""Operations whose columns stand together or that are not symmetric: every algorithm that may run them does."""

from dataclasses import replace

import numpy as np
import pytest

from windrow.aggregates.operations import (
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    CO_MOMENTS,
    FIRST_GREATEST_KEY,
    GREATEST_PAIR,
    HIGHER_MOMENTS,
    LAST_GREATEST_KEY,
)
from windrow.final import FINAL_AGGREGATORS, KeyedWindows
from windrow.final.specialise import bound
from windrow.slicing import Window

N = 150
rng = np.random.default_rng(5)


def one_value_each(columns):
    """Moments of single values, in two logical records; some have no row, and most values are alike."""
    values = rng.integers(0, 3, (N, 2)).astype(float) / 10
    made = np.zeros((N, columns * 2))
    for first, value in ((0, values[:, 0]), (columns, values[:, 1])):
        made[:, first], made[:, first + 1] = 1, value
        if columns == 6:
            made[:, first + 2] = values.sum(axis=1)
        made[rng.random(N) < 0.3, first : first + columns] = 0
    return made


def few_integers(operation, width):
    """Ties of keys and of values, and records that stand for no rows."""
    made = rng.integers(-2, 2, (N, width))
    for first in range(0, width, 3 if width == 6 else 1):
        made[rng.random(N) < 0.3, first : first + width // 2] = operation.identity
    return made


def records_of(operation):
    if operation.dtype is np.float64:
        return one_value_each(6 if operation is CO_MOMENTS else 5)
    return few_integers(operation, 2 if operation.name.startswith("bit") else 6)


def in_python(operation, width):
    """Not compiled: there are too many of them here, and the queries of tests run them compiled."""
    inverse = operation.inverse and bound(operation.inverse, WIDTH=width)
    return replace(
        operation, interpreted=True, combine=bound(operation.combine, WIDTH=width), inverse=inverse
    )


def folded(operation, records):
    total = operation.empty(1, records.shape[1])
    for place in range(len(records)):
        operation.combine(total, 0, records, place, total, 0)
    return total[0]


@pytest.mark.parametrize("algorithm", FINAL_AGGREGATORS.values(), ids=FINAL_AGGREGATORS)
@pytest.mark.parametrize(
    "operation",
    [
        CO_MOMENTS,
        HIGHER_MOMENTS,
        BIT_AND,
        BIT_OR,
        BIT_XOR,
        GREATEST_PAIR,
        FIRST_GREATEST_KEY,
        LAST_GREATEST_KEY,
    ],
    ids=lambda operation: operation.name,
)
def test_equals_a_fold_from_left_to_right(algorithm, operation):
    if algorithm.refusal(operation.algebra) is not None:
        pytest.skip("needs another algebra")
    records = records_of(operation)
    operation = in_python(operation, records.shape[1])
    for window, slide in ((1, 1), (7, 1), (8, 3), (64, 5)):
        keyed = KeyedWindows([Window(window, slide)], [(operation, records.shape[1])], {operation: algorithm})
        found = []
        for first in range(0, N, 40):
            piece = slice(first, min(first + 40, N))
            starts = np.arange(N)[piece]
            keyed.append(starts, np.zeros(len(starts), np.int32), {operation: records[piece]}, 1)
            found += [answer[operation] for _, _, _, answer in keyed.evaluate(first, piece.stop)]
        wanted = [folded(operation, records[max(0, e - window) : e]) for e in range(slide, N + 1, slide)]
        np.testing.assert_allclose(np.concatenate(found), wanted, rtol=1e-9, atol=1e-12)


def test_moments_are_those_of_the_values():
    values = rng.normal(3, 1, N)
    higher = np.zeros((N, 5))
    higher[:, 0], higher[:, 1] = 1, values
    count, mean, *powers = folded(in_python(HIGHER_MOMENTS, 5), higher)
    assert count == N
    assert mean == pytest.approx(values.mean())
    assert powers == pytest.approx([((values - values.mean()) ** power).sum() for power in (2, 3, 4)])
    both = np.zeros((N, 6))
    both[:, 0], both[:, 1], both[:, 2] = 1, values, values**2
    found = folded(in_python(CO_MOMENTS, 6), both)
    dx, dy = values - values.mean(), values**2 - (values**2).mean()
    assert found[3:] == pytest.approx([(dx * dx).sum(), (dy * dy).sum(), (dx * dy).sum()])
