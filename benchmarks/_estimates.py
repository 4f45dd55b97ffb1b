"""Estimated against executed cost: which plans are run for it, and how far the estimates are off.

Shein executes a few plans of each optimizer and compares (2019, §7.3.4): once the scales are chosen so that
the largest readings agree, estimates are 31 % off on average with WeaveShare, 14 % with TriWeave, 22 % over
all. `scaled` is that; `absolute` takes the estimate as the seconds that it is, by constants measured
in the same run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.slicing import Window

SECOND = 1_000_000
TECHNIQUES = ("no_share", "max_share", "weave_share", "tri_weave")


@dataclass(frozen=True)
class Workload:
    """How windows are drawn, and what their queries group by."""

    name: str
    skew: float
    """Of Zipf's law, by which longer slides are more popular; 0: all alike."""
    keys: str = ""
    seed: int = 0

    def windows(self, count: int) -> list[Window]:
        """So many windows: slides up to 1,000 s, ranges of one to ten slides, not always whole."""
        generator = np.random.default_rng(self.seed)
        slides = np.arange(1_000, 0, -1)
        popularity = np.arange(1, 1_001, dtype=float) ** -self.skew
        drawn = generator.choice(slides, count, p=popularity / popularity.sum())
        ranges = np.maximum(1, (drawn * generator.uniform(1, 10, count)).astype(int))
        return [Window(int(r) * SECOND, int(s) * SECOND) for r, s in zip(ranges, drawn, strict=True)]


SKEWED = Workload("skewed slides", 0.5)
WORKLOADS = (
    SKEWED,
    Workload("uniform slides", 0.0, seed=2),
    Workload("skewed slides, by 10 groups", 0.5, "g7", seed=3),
)


def deviation(runs: Sequence[Mapping[str, Any]], *, scaled: bool = True) -> float:
    """How far estimates are off on average, as a part of what was executed."""
    largest = max(runs, key=lambda run: run["epochs"])
    scale = largest["epochs"] / largest["estimated"] if scaled else 1.0
    return sum(abs(run["estimated"] * scale / run["epochs"] - 1) for run in runs) / len(runs)


def deviations(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Of each technique, and over all; each with a scale of its own."""
    found = {way: [run for run in runs if run["way"] == way] for way in TECHNIQUES} | {"all": list(runs)}
    return {
        way: {
            "runs": len(some),
            "scaled": round(deviation(some), 3),
            "absolute": round(deviation(some, scaled=False), 3),
        }
        for way, some in found.items()
        if some
    }
