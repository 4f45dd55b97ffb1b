"""Counting edges by Formula 1: inclusion and exclusion over all groups of combs that overlap.

A group of combs overlaps when every two of it do, that is when the distance of their phases is a
multiple of the greatest common divisor of their periods; its common edges come once in the LCM of its
periods. Groups are grown depth first, so one that does not overlap is never grown further.
Needs: nothing. Time: a step a group, up to 2ⁿ of them for n combs; space: n.
Source: Shein 2019, §5.2.2 and §5.2.3.
"""

from __future__ import annotations

from math import gcd, lcm
from typing import TYPE_CHECKING

from windrow.errors import PlanError
from windrow.slicing.cuts import Cuts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from windrow.slicing.cuts import Comb


def f1(combs: Iterable[Comb], most_groups: int = 1 << 20, divisor: Callable[[int, int], int] = gcd) -> int:
    """How many edges a composite slide has; an error where there are too many groups.

    >>> from windrow.slicing.cuts import Comb
    >>> f1([Comb(3, 0), Comb(4, 0), Comb(4, 3), Comb(6, 0), Comb(6, 2), Comb(9, 0)])
    27
    """
    combs = list(combs)
    composite = lcm(*(comb.period for comb in combs))
    kept = Cuts.of(combs).combs
    slides = [comb.period for comb in kept]
    shifts = [comb.phase for comb in kept]
    edges = groups = 0
    # A group's members, its LCM, its sign, and the first comb that it may still be grown by.
    growing: list[tuple[tuple[int, ...], int, int, int]] = [((), 1, -1, 0)]
    while growing:
        members, multiple, sign, following = growing.pop()
        for new in range(following, len(slides)):
            slide, shift = slides[new], shifts[new]
            if any(
                shift != shifts[other] and (shift - shifts[other]) % divisor(slide, slides[other])
                for other in members
            ):
                continue
            groups += 1
            if groups > most_groups:
                raise PlanError(
                    f"F1 gave up after {most_groups:,} groups of {len(kept)} combs\n"
                    "raise most_groups, or count with method='components'"
                )
            common = multiple * slide // divisor(multiple, slide)
            edges -= sign * (composite // common)
            growing.append(((*members, new), common, -sign, new + 1))
    return edges
