"""Edges of a composite slide: all methods against marking every instant, and the examples of Shein's ch. 5."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm, prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from windrow.errors import PlanError
from windrow.slicing import Comb, Cuts, Window, composite, composite_slide, count_edges, edge_rate, edges
from windrow.slicing.edge_counts import DivisorTable, bit_set, components, f1, f1_table
from windrow.slicing.edge_counts.boxes import Axis
from windrow.slicing.edge_counts.components import Within, covered
from windrow.slicing.edge_counts.estimate import estimated
from windrow.slicing.edge_counts.factors import prime_powers

METHODS = ["components", "f1", "f1_table", "bit_set"]
PRIMES = [p for p in range(2, 1_000) if all(p % d for d in range(2, p))]

some_combs = st.lists(
    st.builds(Comb, st.integers(1, 48), st.one_of(st.just(0), st.integers(0, 100))), min_size=1, max_size=9
)
some_windows = st.lists(
    st.builds(
        Window, range=st.integers(1, 90), slide=st.integers(1, 36), offset=st.sampled_from([0, 0, 1, 7])
    ),
    min_size=1,
    max_size=6,
)


def marked(combs: list[Comb]) -> int:
    """The obvious way."""
    instants = range(lcm(*(comb.period for comb in combs)))
    assume(len(instants) <= 100_000)
    return sum(any(t % comb.period == comb.phase for comb in combs) for t in instants)


@pytest.mark.parametrize("method", METHODS)
def test_the_examples_of_shein(method):
    """Example 8: slides of 2, 3, 4, 5 and 6. Example 10: 3, 4 in fragments, 6 in fragments, and 9."""
    assert count_edges([Comb(slide, 0) for slide in (2, 3, 4, 5, 6)], method)[:2] == (44, 60)
    fragments = [Comb(3, 0), Comb(4, 0), Comb(4, 3), Comb(6, 0), Comb(6, 2), Comb(9, 0)]
    assert count_edges(fragments, method)[:2] == (27, 36)


@given(some_combs)
def test_all_methods_agree_with_marking(combs):
    expected = marked(combs)
    for method in METHODS:
        count = count_edges(combs, method)
        assert count.edges == expected
        assert count.rate.rate == pytest.approx(expected / count.period)
    assert edge_rate(combs).rate == pytest.approx(expected / count.period)
    assert edge_rate(combs).exact


@given(some_windows)
def test_windows_with_fragments_and_offsets(windows):
    slide = composite_slide(windows)
    assume(slide <= 100_000)
    cuts = composite(windows)
    expected = len(edges(cuts, 0, slide))
    for method in METHODS:
        count = count_edges(cuts.combs, method)
        assert count.edges * (slide // count.period) == expected


@given(some_combs, st.sampled_from([(0, 1 << 20), (0, 8), (4, 30)]))
def test_however_a_component_is_worked_out(combs, limits):
    """Nothing by inclusion and exclusion; tables of any size; tables so small that atoms are gone through."""
    expected = marked(combs)
    pairs = {(comb.period, comb.phase) for comb in combs}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(components, "MOST_IN_TERMS", limits[0])
        patch.setattr(components, "MOST_CELLS", limits[1])
        patch.setattr(components, "FEW_COMBS", 1)
        length = lcm(*(period for period, _ in pairs))
        assert covered(pairs, Within(1 << 40), lambda a, b: a / b) == pytest.approx(expected / length)
        patch.setattr(components, "MOST_CELLS", 16 * limits[1])
        exactly = covered(pairs, Within(1 << 40, exact=True), Fraction)
        assert exactly == Fraction(expected, length)


def test_coprime_slides_are_independent_however_long_their_common_multiple():
    count = count_edges([Comb(p, p // 2) for p in PRIMES])
    assert count.edges == prod(PRIMES) - prod(p - 1 for p in PRIMES)
    assert count.rate.rate == pytest.approx(1 - prod(1 - 1 / p for p in PRIMES))
    seconds_and_milliseconds = [p * 1_000_000 for p in PRIMES[3:40]] + [p * 1_000 for p in PRIMES[100:]]
    count = count_edges([Comb(slide, 0) for slide in seconds_and_milliseconds])
    free = prod(1 - 1 / p for p in PRIMES[100:])
    shared = 1 - prod(1 - 1 / p for p in PRIMES[3:40])
    assert count.period > 10**200
    assert count.rate.exact
    assert count.rate.rate * 1_000 == pytest.approx(1 - free * (1 - shared / 1_000))


def test_a_rate_that_is_tiny_is_precise():
    slides = [10_000_019, 10_000_079, 10_000_103, 10_000_121, 10_000_139, 10_000_141]
    exactly = count_edges([Comb(slide, 0) for slide in slides])
    assert edge_rate([Comb(slide, 0) for slide in slides]).rate == pytest.approx(
        float(Fraction(exactly.edges, exactly.period)), rel=1e-12
    )


def test_entangled_slides_are_counted_where_nothing_else_could():
    """Of 50 slides, each adds what the earlier ones leave free of it: 50 smaller counts that must add up."""
    slides = range(51, 101)
    added = Fraction(0)
    for slide in slides:
        earlier = {(other // gcd(other, slide), 0) for other in slides if other < slide}
        left = 1 - covered(earlier, Within(1 << 40, exact=True), Fraction) if earlier else Fraction(1)
        added += left / slide
    count = count_edges(Comb(slide, 0) for slide in slides)
    assert Fraction(count.edges, count.period) == added
    assert edge_rate(Comb(slide, 0) for slide in slides).rate == pytest.approx(float(added))


@given(some_combs, st.integers(1, 2_000))
def test_bounds_hold_and_are_said_to_be_bounds(combs, budget):
    kept = [(comb.period, comb.phase) for comb in Cuts.of(combs).combs]
    assume(len(kept) > 1)
    expected = marked(combs) / lcm(*(comb.period for comb in combs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(components, "MOST_IN_TERMS", 2)
        low, share, high = estimated(tuple(kept), budget)
    assert low - 1e-9 <= expected <= high + 1e-9
    assert low <= share <= high


def test_beyond_the_budget_there_is_an_estimate():
    tied = [Comb(p * q, (p * q) // 3) for p in PRIMES[2:30] for q in PRIMES[2:30] if p < q]
    exactly = edge_rate(tied, budget=1 << 40)
    estimate = edge_rate(tied, budget=100_000)
    assert exactly.exact
    assert not estimate.exact
    assert estimate.low < exactly.rate < estimate.high
    assert estimate.rate == pytest.approx(exactly.rate, rel=0.01)
    assert estimate == edge_rate(tied, budget=100_000)
    assert count_edges(tied, budget=100_000) == (None, lcm(*(comb.period for comb in tied)), estimate)


def test_limits_are_said():
    primes = [Comb(p, 0) for p in PRIMES]
    with pytest.raises(PlanError, match=r"needs 1.05e\+12 bytes, more than 1.07e\+09"):
        bit_set([Comb(2**20, 0), Comb(10**6 + 3, 0)])
    with pytest.raises(PlanError, match="F1 gave up after 10,000 groups of 168 combs"):
        f1(primes, most_groups=10_000)
    with pytest.raises(PlanError, match="count with method='components'"):
        f1_table(primes, most_groups=10)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_table_of_divisors(left, right):
    assert TABLE(left, right) == gcd(left, right)


TABLE = DivisorTable(1 << 15)


@given(st.one_of(st.integers(1, 10**6), st.integers(1, 2**62)))
def test_prime_powers(number):
    powers = prime_powers(number)
    assert prod(power for _, power in powers) == number
    assert [prime for prime, _ in powers] == sorted({prime for prime, _ in powers})
    for prime, power in powers:
        assert power % prime == 0
        assert all(prime % small for small in PRIMES if small < prime)
        assert pow(2, prime - 1, prime) in (1, 0)


def test_large_prime_factors_are_found():
    one, other = 1_000_003, 2_147_483_647
    assert prime_powers(one * other) == ((one, one), (other, other))
    assert prime_powers(one * one) == ((one, one * one),)
    assert prime_powers(3215031751) == ((151, 151), (751, 751), (28351, 28351))  # fools witnesses up to 7


@given(st.sets(st.tuples(st.integers(1, 4), st.integers(0, 80)), min_size=1, max_size=12))
def test_atoms_part_the_residues_and_make_every_ball_a_range(balls):
    balls = {(3**exponent, residue % 3**exponent) for exponent, residue in balls}
    axis = Axis.of(3, balls)
    assert sum(axis.weights) == axis.modulus == max(modulus for modulus, _ in balls)
    for ball in balls:
        assert sum(axis.weights[atom] for atom in axis.balls[ball]) == axis.modulus // ball[0]
        for other in balls:
            common = gcd(ball[0], other[0])
            meet = ball[1] % common == other[1] % common
            assert meet == bool(set(axis.balls[ball]) & set(axis.balls[other]))
