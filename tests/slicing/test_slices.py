"""Cuts: the counts of Shein's Table 1, and that no window boundary falls inside a slice."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.slicing import (
    Comb,
    Cuts,
    Window,
    composite,
    composite_slide,
    cuts_for_pass,
    cutty,
    cutty_per_window,
    edges,
    granules,
    pairs,
    pairs_per_window,
    panes,
    panes_per_window,
    slices,
)
from windrow.slicing import cuts as cuts_module

windows = st.builds(Window, range=st.integers(1, 60), slide=st.integers(1, 40), offset=st.integers(0, 60))


def slices_in(cuts, window, end):
    """Counted the obvious way: distinct slices of the instants in the window that ends there."""
    return len(set(cuts.slice_starts(np.arange(end - window.range, end)).tolist()))


@given(
    st.lists(st.builds(Comb, st.integers(1, 120), st.sampled_from([0, 0, 1, 2, 5, 60, 61]))),
    st.sampled_from([0, 1_000]),
)
def test_combs_inside_others_are_dropped(combs, few):
    """As defined, whether periods are tried one by one or all at once."""
    expected = [c for c in sorted(set(combs)) if not any(d.covers(c) for d in set(combs) - {c})]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts_module, "FEW_PERIODS", few)
        assert Cuts.of(combs).combs == tuple(expected)


@pytest.mark.parametrize("longest", [300, 600, 3_000, 100_000])
def test_many_combs_inside_others_are_dropped(longest):
    """So many that small divisors are tried and large ones found as quotients."""
    draw = random.Random(longest)
    combs = [Comb(draw.randint(longest // 20, longest), draw.choice([0, 0, 1])) for _ in range(600)]
    expected = [c for c in sorted(set(combs)) if not any(d.covers(c) for d in set(combs) - {c})]
    assert Cuts.of(combs).combs == tuple(expected)
    assert len(expected) < len(set(combs))


def test_the_largest_of_many_periods_may_be_a_multiple_of_the_smallest():
    primes = [p for p in range(1_000, 4_000) if all(p % d for d in range(2, 64))]
    combs = [Comb(p, 0) for p in primes]
    assert Cuts.of([*combs, Comb(7 * primes[0], 0)]).combs == tuple(combs)


@given(st.lists(windows, min_size=1, max_size=5))
def test_the_composite_is_of_every_window_s_own_slices(shared):
    assert composite(shared) == Cuts.of(comb for window in shared for comb in slices(window).cuts.combs)


@given(windows, st.integers(-20, 20))
def test_table_1(window, number):
    end = window.offset + number * window.slide
    expected_panes = window.range // np.gcd(window.range, window.slide)
    assert panes_per_window(window) == expected_panes == slices_in(panes(window), window, end)
    if window.range % window.slide == 0:
        expected_pairs = window.range // window.slide
    else:
        expected_pairs = 2 * (window.range // window.slide) + 1
    assert pairs_per_window(window) == expected_pairs == slices_in(pairs(window), window, end)
    assert expected_pairs <= expected_panes
    assert cutty_per_window(window) == -(-window.range // window.slide) <= expected_pairs
    # A window that ends inside a slice sees it open: the slices it touches are counted the same way.
    assert cutty_per_window(window) == slices_in(cutty(window), window, end)
    assert cutty(window).slice_starts(np.array([end - window.range])) == end - window.range


@given(st.lists(windows, min_size=1, max_size=4), st.integers(-500, 500))
def test_the_composite_slide_repeats_and_has_every_window_s_cuts(shared, start):
    cuts = composite(shared)
    end = start + min(composite_slide(shared), 200)
    marked = edges(cuts, start, end)
    assert marked.tolist() == [t for t in range(start, end) if cuts.slice_starts(np.array([t])) == t]
    repeated = edges(cuts, start + composite_slide(shared), end + composite_slide(shared))
    assert (repeated - composite_slide(shared) == marked).all()
    for window in shared:
        boundaries = [t for t in range(start, end) if (t - window.offset) % window.slide == 0]
        boundaries += [t for t in range(start, end) if (t + window.range - window.offset) % window.slide == 0]
        assert set(boundaries) <= set(marked.tolist())


def test_figure_8_of_shein():
    """Slides of 2 and 4: partials every 2, which make a window of 6 and one of 8."""
    shared = [Window(6, 2), Window(8, 4)]
    assert composite_slide(shared) == 4
    assert edges(composite(shared), 0, 4).tolist() == [0, 2]
    assert [slices_in(composite(shared), window, 8) for window in shared] == [3, 4]


@given(st.lists(windows, min_size=1, max_size=4), st.integers(-5_000, 5_000))
def test_every_window_is_a_whole_number_of_slices(shared, instant):
    """A window boundary is where a slice starts, in the shared cuts and in each query's own."""
    for window in shared:
        for cuts in (cuts_for_pass(shared), granules(composite(shared)), pairs(window), panes(window)):
            end = window.last_evaluation_until(instant)
            for boundary in (end, end - window.range):
                assert cuts.slice_starts(np.array([boundary])) == boundary


@given(st.lists(windows, min_size=1, max_size=4), st.lists(st.integers(-(10**15), 10**15), min_size=1))
def test_a_slice_holds_its_instants_and_is_cut_no_finer_by_cutting_twice(shared, instants):
    instants = np.array(instants)
    fine = cuts_for_pass(shared).slice_starts(instants)
    assert (fine <= instants).all()
    for window in shared:
        own = pairs(window)
        assert (own.slice_starts(fine) == own.slice_starts(instants)).all()


@given(windows, st.integers(-(10**15), 10**15))
def test_evaluations(window, instant):
    after, until = window.first_evaluation_after(instant), window.last_evaluation_until(instant)
    assert (after - window.offset) % window.slide == 0
    assert until <= instant < after == until + window.slide


def test_coprime_slides_are_cut_exactly_instead_of_into_granules():
    """Slides of 7 and 11 seconds have granules of a second; the exact cuts are fewer."""
    shared = [Window(7_000_000, 7_000_000), Window(11_000_000, 11_000_000)]
    assert [comb.period for comb in cuts_for_pass(shared).combs] == [7_000_000, 11_000_000]
    many = [Window(p, p) for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)]
    assert len(cuts_for_pass(many).combs) == 1
