"""Slices of instants under many combs, against the definition, and where neither way may take long."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.slicing import Comb, Cuts, slice_starts

combs = st.builds(Comb, period=st.integers(1, 500), phase=st.integers(0, 500))


@given(
    combs=st.lists(combs, min_size=1, max_size=12),
    instants=st.lists(st.one_of(st.integers(-300, 300), st.integers(-(10**15), 10**15)), max_size=40),
)
def test_it_is_the_latest_tooth_of_any_comb(combs, instants):
    cuts = Cuts.of(combs)
    starts = slice_starts(cuts, np.array(instants, np.int64))
    assert starts.tolist() == cuts.slice_starts(np.array(instants, np.int64)).tolist()


def test_neither_a_gap_of_centuries_nor_thousands_of_combs_take_room():
    cuts = Cuts.of(Comb(1_000_003 + 2 * i, i) for i in range(3_000))
    far = np.array([0, 10**16])
    assert slice_starts(cuts, far).tolist() == cuts.slice_starts(far).tolist()
    near = np.arange(0, 3_000_000, 300)
    assert slice_starts(cuts, near).tolist() == cuts.slice_starts(near).tolist()
