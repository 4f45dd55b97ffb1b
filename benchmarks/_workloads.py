"""Workloads of many queries, as Shein's testbed draws them (2019, §5.4.1).

Slides are whole seconds up to a longest one, Zipf-distributed with the longest as the most popular: with no
skew all are equally popular. A diverse workload has slides of prime length only. The range of a query is its
slide times an overlap factor, which is uniform from 1 to the largest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from windrow.slicing import Window

SECOND = 1_000_000


@dataclass(frozen=True)
class Workload:
    """The parameters of the testbed, in the paper's words Qnum, Smax, λ, Zskew, Omax and Gen."""

    queries: int
    longest_slide: int
    rate: float
    skew: float
    largest_overlap: int
    diverse: bool = False

    def slides(self) -> np.ndarray:
        """The slides that are drawn from, in seconds."""
        lengths = np.arange(1, self.longest_slide + 1)
        if not self.diverse:
            return lengths
        return np.array(
            [n for n in lengths.tolist() if n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))]
        )

    def windows(self, seed: int = 0) -> Counter[Window]:
        """The windows, and how many queries ask for each.

        >>> sum(Workload(1_000, 100, 1, 0.5, 10).windows().values())
        1000
        """
        generator = np.random.default_rng(seed)
        slides = self.slides()[::-1]
        popularity = np.arange(1, len(slides) + 1, dtype=np.float64) ** -self.skew
        drawn = generator.choice(slides, self.queries, p=popularity / popularity.sum())
        overlaps = generator.integers(1, self.largest_overlap + 1, self.queries)
        distinct, times = np.unique(
            np.stack([drawn * overlaps, drawn], axis=1) * SECOND, axis=0, return_counts=True
        )
        return Counter(dict(zip((Window(*row) for row in distinct.tolist()), times.tolist())))
