"""Counting edges in a bit set: mark every edge of one composite slide, then count the marks.

Needs: memory for the composite slide, so it stops where the slides have large common multiples.
Time: Σ LCM / slide marks; space: LCM, a byte an instant here (NumPy has no addressable bits).
Source: Shein 2019, §5.2.1.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from windrow.errors import PlanError
from windrow.slicing.cuts import Cuts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.slicing.cuts import Comb


def bit_set(combs: Iterable[Comb], most_bytes: int = 1 << 30) -> int:
    """How many edges a composite slide has; an error where it does not fit in memory.

    >>> from windrow.slicing.cuts import Comb
    >>> bit_set(Comb(slide, 0) for slide in (2, 3, 4, 5, 6))
    44
    """
    combs = list(combs)
    length = lcm(*(comb.period for comb in combs))
    if length > most_bytes:
        raise PlanError(
            f"a bit set for these slides needs {length:.3g} bytes, more than {most_bytes:.3g}\n"
            "raise most_bytes, or count with method='components', which needs no bit set"
        )
    marked = np.zeros(length, np.bool_)
    for comb in Cuts.of(combs).combs:
        marked[comb.phase :: comb.period] = True
    return int(np.count_nonzero(marked))
