"""How long each method takes to count the edges of the sets of combs that an optimizer asked about.

A bit set is measured up to `MEASURED` instants; larger ones are reckoned from what an instant takes in the
longest that fits in memory, up to the limit here and up to the memory of the machine in the paper. F1 gives
up after so many groups. Our own counter starts every round with an empty memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np

from windrow.errors import PlanError
from windrow.slicing import Comb, edge_rate
from windrow.slicing.edge_counts import bit_set, f1, f1_table
from windrow.slicing.edge_counts.components import share_of_component

PAPERS_INSTANTS = 8 * 96 * 10**9
"""A bit an instant in 96 GB."""
MEASURED = 10**7

MEMORIES = ("in_memory_here", "in_memory_of_the_paper")

Set = Sequence[Comb]


@dataclass(frozen=True)
class Limits:
    """How far the methods of the paper are followed."""

    bit_set_bytes: int
    """An instant is a byte here."""
    groups: int
    """Of F1, for one set."""
    repeats: int


def bit_set_curve(limit: int) -> list[dict[str, float | None]]:
    """Seconds of bit sets of growing length, up to a limit of bytes, and the first that is beyond it."""
    points: list[dict[str, float | None]] = []
    for third in (2, 20, 200, 2_003, 8_009, 16_001, 32_003):
        combs = [Comb(slide, 0) for slide in (499, 503, third)]
        try:
            seconds: float | None = min(_timed(bit_set, combs, limit) for _ in range(2))
        except PlanError:
            seconds = None
        points.append({"instants": lcm(499, 503, third), "seconds": seconds})
        if seconds is None:
            break
    return points


def seconds_an_instant(curve: list[dict[str, Any]]) -> float:
    """Of the longest bit set that was measured."""
    measured = [point for point in curve if point["seconds"] is not None]
    return measured[-1]["seconds"] / measured[-1]["instants"]


def compare(sets: Sequence[Set], limits: Limits, an_instant: float) -> dict[str, Any]:
    """Seconds of all methods over the same sets, and how many sets each could count."""
    lengths = np.array([float(lcm(*(comb.period for comb in combs))) for combs in sets])
    ours = _rounds(edge_rate, sets, limits.repeats)
    formula = _rounds(lambda combs: f1(combs, limits.groups), sets, limits.repeats)
    table = _rounds(lambda combs: f1_table(combs, most_groups=limits.groups), sets, limits.repeats)
    measured = lengths <= min(MEASURED, limits.bit_set_bytes)
    bits = lengths * an_instant
    marked = [combs for combs, short in zip(sets, measured) if short]
    bits[measured] = _rounds(lambda combs: bit_set(combs, limits.bit_set_bytes), marked, limits.repeats)
    followed = ~np.isnan(formula)
    return {
        "sets": len(sets),
        "most_combs": max(len(combs) for combs in sets),
        "longest": _rounded(lengths.max()),
        "seconds": _rounded(ours.sum()),
        "f1": {
            "sets": int(followed.sum()),
            "seconds": _rounded(formula[followed].sum()),
            "table_seconds": _rounded(table[followed].sum()),
            "ours_seconds": _rounded(ours[followed].sum()),
            "ratio": _rounded(formula[followed].sum() / ours[followed].sum()),
        },
        "bit_set": {
            "measured": _part(bits, ours, measured),
            "in_memory_here": _part(bits, ours, lengths <= limits.bit_set_bytes),
            "in_memory_of_the_paper": _part(bits, ours, lengths <= PAPERS_INSTANTS),
        },
    }


def _part(bits: np.ndarray, ours: np.ndarray, sets: np.ndarray) -> dict[str, float]:
    return {
        "sets": int(sets.sum()),
        "seconds": _rounded(bits[sets].sum()),
        "ours_seconds": _rounded(ours[sets].sum()),
        "ratio": _rounded(bits[sets].sum() / ours[sets].sum()),
    }


def _rounds(count: Callable[[Set], Any], sets: Sequence[Set], repeats: int) -> np.ndarray:
    """The fastest of a few rounds for each set; not a number where the method gives up."""
    fastest = np.full(len(sets), np.inf)
    for _ in range(repeats):
        share_of_component.cache_clear()
        for number, combs in enumerate(sets):
            try:
                seconds = _timed(count, combs)
            except PlanError:
                seconds = np.nan
            fastest[number] = np.minimum(fastest[number], seconds)
    return fastest


def _timed(count: Callable[..., Any], *arguments: Any) -> float:
    started = time.perf_counter()
    count(*arguments)
    return time.perf_counter() - started


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def mean_ratio(points: Sequence[Mapping[str, Any]], memory: str) -> float:
    """How many times as long as ours the bit set takes, on average over the points up to where it stops.

    It stops where a set does not fit in the memory; of that point the sets count that do.
    """
    ratios = []
    for point in points:
        bits = point["counting"]["bit_set"][memory]
        ratios.append(bits["ratio"])
        if bits["sets"] < point["counting"]["sets"]:
            break
    return _rounded(sum(ratios) / len(ratios))
