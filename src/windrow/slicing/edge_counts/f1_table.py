"""Formula 1 with a table of greatest common divisors, made before the counting begins.

Needs: a table, which is worth making once for many counts. Time: as F1, a look-up in place of Euclid's
algorithm; larger numbers take Euclid's steps until they are within the table. Space: the table.
Source: Shein 2019, §5.2.4.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from windrow.slicing.edge_counts.f1 import f1

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.slicing.cuts import Comb


class DivisorTable:
    """The greatest common divisors of all pairs of numbers below a limit, as many as fit in the bytes.

    >>> table = DivisorTable(bytes=1 << 16)
    >>> table.limit, table(84, 36), table(84_000, 36)
    (181, 12, 12)
    """

    def __init__(self, bytes: int) -> None:
        self.limit = min(isqrt(bytes // 2), 1 << 16)
        numbers = np.arange(self.limit, dtype=np.uint16)
        # Views on the rows: NumPy itself takes longer to hand out one number than Euclid to find it.
        self._rows = [np.gcd(number, numbers).data for number in numbers]

    def __call__(self, left: int, right: int) -> int:
        while left >= self.limit or right >= self.limit:
            if left < right:
                left, right = right, left
            left, right = right, left % right
            if not right:
                return left
        return int(self._rows[left][right])


@lru_cache(maxsize=1)
def usual_table() -> DivisorTable:
    """Of 8 MB, for slides below 2,048; made in 50 ms, once."""
    return DivisorTable(1 << 23)


def f1_table(combs: Iterable[Comb], table: DivisorTable | None = None, most_groups: int = 1 << 20) -> int:
    """As `f1`, with the divisors from a table.

    >>> from windrow.slicing.cuts import Comb
    >>> f1_table([Comb(slide, 0) for slide in (2, 3, 4, 5, 6)])
    44
    """
    return f1(combs, most_groups, table or usual_table())
