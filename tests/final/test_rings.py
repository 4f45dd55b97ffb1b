"""Rings: they get their size before it is needed, and give back what they outgrew."""

import numpy as np
import pytest

from windrow.aggregates.operations import GREATEST
from windrow.final import FINAL_AGGREGATORS, KeyedWindows, PartitionedRows, TwoStacks
from windrow.final.rings import RingAggregator, Rings
from windrow.slicing import Window

RINGS = [a for a in FINAL_AGGREGATORS.values() if issubclass(a, RingAggregator) and not a.by_column]
RINGS = [algorithm for algorithm in RINGS if algorithm.refusal(GREATEST.algebra) is None]


def entries(count, keys):
    """Entries of keys at random, each in a slice of its own."""
    rng = np.random.default_rng(8)
    return (
        np.arange(count),
        rng.integers(0, keys, count).astype(np.int32),
        {GREATEST: rng.integers(0, 99, (count, 2))},
    )


@pytest.mark.parametrize("algorithm", RINGS)
def test_a_run_never_stops_for_a_ring_that_is_full(algorithm, monkeypatch):
    """Stopping once for each key that grows took K^1.5 for K keys."""
    monkeypatch.setattr(Rings, "grow_full", lambda self: pytest.fail("a ring was full"))
    starts, keys, records = entries(3_000, 50)
    keyed = KeyedWindows([Window(500, 1)], [(GREATEST, 2)], {GREATEST: algorithm})
    partitioned = PartitionedRows(40, 3, [(GREATEST, 2)], {GREATEST: algorithm})
    for first in range(0, 3_000, 300):
        piece = slice(first, first + 300)
        own = {GREATEST: records[GREATEST][piece]}
        keyed.append(starts[piece], keys[piece], own, 50)
        assert sum(len(ends) for _, ends, _, _ in keyed.evaluate(first, first + 300)) > 300
        assert len(partitioned.append(keys[piece], own, 50)[0]) > 80


def test_rings_that_were_outgrown_are_given_back():
    """A window that grows entry by entry does not keep the memory of all its earlier sizes."""
    aggregator = TwoStacks(GREATEST, 2)
    aggregator.grow(1)
    _, rings = aggregator.lanes[0]
    for size in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        rings.fit(np.array([size]))
    assert 1024 <= len(rings.values) <= 1024 + 512


def test_a_snapshot_holds_what_is_in_use():
    partitioned = PartitionedRows(64, 1, [(GREATEST, 2)], {GREATEST: TwoStacks})
    for _ in range(10):
        _, keys, records = entries(4_000, 600)
        partitioned.append(keys, records, 600)
    slots = 600 * 64  # 63 closed slices a key, in rings of 64
    held = sum(array.nbytes for array in partitioned.snapshot().values())
    assert (
        held <= 1.2 * slots * 2 * 16
    )  # a value and an aggregate of two columns each, and a little for a key
