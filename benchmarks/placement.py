"""Which optimizer places many queries on several nodes with the least total cost, and with the least maximum?

The 256 settings of Shein 2019, Table 8, simulated: every setting draws a workload (`_workloads.py`), and all
thirteen optimizers place it. Costs are the paper's: operations a second, final aggregation by panes, every
query for itself. The paper leaves open whether queries with equal slides were woven before anything else;
both are run. Figure 40 is redrawn for queries that come one by one, Table 9 for both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from _harness import Bar, console, is_quick, machine, publish
from _placement_figure import draw
from _workloads import Workload

from windrow.planner.sharing import CostModel
from windrow.planner.sharing.placement import PLACEMENTS

MEASURES = ("maximum", "total")
SAME = 1e-9
"""Costs that differ by less, relatively, are equal but for rounding."""


@dataclass(frozen=True)
class Settings:
    """What is run: all combinations."""

    rates: Sequence[float]
    queries: Sequence[int]
    nodes: Sequence[int]
    longest_slides: Sequence[int]
    skews: Sequence[float]
    largest_overlaps: Sequence[int]
    generators: Sequence[bool]
    """Whether slides are prime: Div in the paper, Nrm if not."""


TABLE_8 = Settings((10, 100), (250, 500), (4, 8, 16, 32), (25, 50), (0, 1), (10, 100), (False, True))
QUICK = Settings((10, 100), (250,), (4, 16), (25,), (0, 1), (10, 100), (False, True))


class Placing:
    """One run of the benchmark: places and judges."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.placements: list[dict[str, Any]] = []

    def run(self) -> dict[str, Any]:
        """Place everything; the report."""
        facts = machine()
        s = self.settings
        combinations = product(
            s.rates, s.queries, s.nodes, s.longest_slides, s.skews, s.largest_overlaps, s.generators
        )
        for seed, combination in enumerate(combinations):
            self._place(seed, *combination)
        ways = {way: self._judged(together) for way, together in (("alone", False), ("together", True))}
        return {
            "machine": facts,
            "settings": len(self.placements) // 2,
            **ways,
            "bars": [bar.row() for bar in _bars(ways["alone"])],
            "winners": [_winners(row) for row in self.placements],
        }

    def _place(
        self,
        seed: int,
        rate: float,
        queries: int,
        nodes: int,
        slide: int,
        skew: float,
        overlap: int,
        prime: bool,
    ) -> None:
        windows = Workload(queries, slide, rate, skew, overlap, prime).windows(seed)
        cost = CostModel(rate, final="panes", answered_once=False)
        for together in (True, False):
            row: dict[str, Any] = {
                "rate": rate,
                "queries": queries,
                "nodes": nodes,
                "longest_slide": slide,
                "skew": skew,
                "largest_overlap": overlap,
                "generator": "Div" if prime else "Nrm",
                "together": together,
            }
            for name, place in PLACEMENTS.items():
                placed = place(windows, cost, nodes, seed=seed, together=together)
                row[name] = {
                    "maximum": round(placed.maximum, 6),
                    "total": round(placed.total, 6),
                    "seconds": round(placed.seconds, 4),
                }
            self.placements.append(row)
        if seed % 16 == 0:
            console.print(f"setting {seed + 1}: {queries} queries on {nodes} nodes, {rate} rows a second")

    def _judged(self, together: bool) -> dict[str, Any]:
        rows = [row for row in self.placements if row["together"] is together]
        judged: dict[str, Any] = {measure: _quality(rows, measure) for measure in MEASURES}
        judged["seconds"] = {
            name: round(float(np.mean([row[name]["seconds"] for row in rows])), 4) for name in PLACEMENTS
        }
        return judged


def _quality(rows: Sequence[Mapping[str, Any]], measure: str) -> dict[str, Any]:
    """Each optimizer between the average best (0 %) and the average worst (100 %), and how often it wins."""
    costs = np.array([[row[name][measure] for name in PLACEMENTS] for row in rows])
    best, worst = costs.min(axis=1), costs.max(axis=1)
    span = np.maximum(worst - best, SAME)
    quality = (costs.mean(axis=0) - best.mean()) / (worst.mean() - best.mean())
    deviation = ((costs - best[:, None]) / span[:, None]).std(axis=0)
    above = costs / best[:, None] - 1.0
    wins = above <= SAME
    return {
        name: {
            "quality": round(100 * float(quality[at]), 2),
            "deviation": round(100 * float(deviation[at]), 2),
            "best_in": round(100 * float(wins[:, at].mean()), 1),
            "above_the_best_on_average": round(100 * float(above[:, at].mean()), 2),
            "above_the_best_where_not": round(100 * float(above[~wins[:, at], at].mean()), 2)
            if not wins[:, at].all()
            else 0.0,
        }
        for at, name in enumerate(PLACEMENTS)
    }


def _winners(row: Mapping[str, Any]) -> dict[str, Any]:
    """A setting, and of each measure who is best, and what it and the two winners of the paper cost."""
    setting = {name: value for name, value in row.items() if name not in PLACEMENTS}
    for measure in MEASURES:
        best = min(PLACEMENTS, key=lambda name: row[name][measure])
        setting[measure] = {"best": best, **{name: row[name][measure] for name in (best, "wg_i", "wg_tn")}}
    return setting


def _bars(judged: Mapping[str, Any]) -> Iterator[Bar]:
    total, maximum = judged["total"]["wg_tn"], judged["maximum"]["wg_i"]
    average = 1 + total["above_the_best_on_average"] / 100
    yield Bar("total cost: wg_tn / the best, on average", average, 1.01, at_most=True)
    yield Bar(
        "maximum cost: settings where wg_i is best [%] (paper: 80)", maximum["best_in"], 50, at_most=False
    )
    yield Bar("total cost: settings where wg_tn is best [%] (paper: 90)", total["best_in"], 50, at_most=False)


def main() -> int:
    """Run the benchmark; 1 if a bar of a full run is not kept."""
    quick = is_quick((__doc__ or "").partition("\n")[0])
    kept = publish("placement", Placing(QUICK if quick else TABLE_8).run(), draw, quick=quick)
    return 0 if kept or quick else 1


if __name__ == "__main__":
    sys.exit(main())
