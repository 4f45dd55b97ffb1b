"""Windows of each key's own rows, against folding the last rows again, for every structure."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.final.affine import AFFINE, compose
from windrow.aggregates.operations import ADD_FLOATS, ADD_INTEGERS, GREATEST
from windrow.final import FINAL_AGGREGATORS, PartitionedRows
from windrow.final.rings import RingAggregator

FOLDS = {
    ADD_INTEGERS: lambda values: tuple(np.sum(values, axis=0)),
    ADD_FLOATS: lambda values: tuple(np.sum(values, axis=0)),
    GREATEST: lambda values: tuple(np.max(values, axis=0)),
    AFFINE: lambda values: reduce(compose, (tuple(map(int, value)) for value in values)),
}
MATRIX = [
    pytest.param(algorithm, operation, id=f"{algorithm.name}-{operation.name}")
    for algorithm in FINAL_AGGREGATORS.values()
    if issubclass(algorithm, RingAggregator)
    for operation in FOLDS
    if algorithm.refusal(operation.algebra) is None
]


def recompute(rows, slide, keys, values, fold):
    held, places, answers = {}, [], []
    for place, (key, value) in enumerate(zip(keys, values, strict=True)):
        held.setdefault(key, []).append(value)
        if len(held[key]) % slide == 0:
            places.append(place)
            answers.append(fold(held[key][-rows:]))
    return places, answers


@pytest.mark.parametrize(("algorithm", "operation"), MATRIX)
@settings(max_examples=30)  # for each of the matrix
@given(
    rows=st.integers(1, 12),
    slide=st.integers(1, 6),
    keys=st.lists(st.integers(0, 3), min_size=1, max_size=120),
    pieces=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_equals_recomputation(algorithm, operation, rows, slide, keys, pieces, seed):
    """However the rows are cut into batches, with a snapshot and a restore between any two."""
    values = np.random.default_rng(seed).integers(0, 9, (len(keys), 2)).astype(operation.dtype)
    state = PartitionedRows(rows, slide, [(operation, 2)], {operation: algorithm})
    places, answers = [], []
    for piece in np.array_split(np.arange(len(keys)), pieces):
        own = np.array(keys, np.int32)[piece]
        found, numbers, records = state.append(own, {operation: values[piece]}, 4)
        places += [int(piece[i]) for i in found]
        assert [keys[: piece[i] + 1].count(keys[piece[i]]) for i in found] == numbers.tolist()
        answers += [tuple(record) for record in records[operation]]
        snapshot = state.snapshot()
        state = PartitionedRows(rows, slide, [(operation, 2)], {operation: algorithm})
        state.restore(snapshot)
    expected_places, expected = recompute(rows, slide, keys, list(values), FOLDS[operation])
    assert places == expected_places
    np.testing.assert_allclose(np.array(answers).reshape(-1, 2), np.array(expected).reshape(-1, 2))
