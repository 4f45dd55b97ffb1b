"""How long does it take to plan thousands of queries, and to count the edges on the way?

The five experiments of Shein 2019, Table 5: one parameter of the workload varies in each (`_workloads.py`).
WeaveShare plans each workload; where there are few enough distinct slides, the full pairwise search does too,
and their costs are compared. The sets of combs whose edges the search asked for are then counted again by
every method (`_edge_counting.py`): the bit set, F1, F1 with a table, and ours.

With λ = 0.002 in experiment 1 no two trees are worth weaving by the paper's formula, so only pairs of slides
are ever counted; with ten times that rate trees grow until a bit set no longer fits in 96 GB, as the paper
reports. Both are run, and the paper's ratio is asked of the second.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Any

from _edge_counting import MEMORIES, Limits, Set, bit_set_curve, compare, mean_ratio, seconds_an_instant
from _harness import Bar, console, is_quick, machine, publish
from _planning_figure import draw
from _workloads import SECOND, Workload

from windrow.planner.sharing import CostModel, full_pairwise, weave_share
from windrow.slicing import Comb, EdgeRate, edge_rate


@dataclass(frozen=True)
class Experiment:
    """A workload, the parameter of it that varies, and how F1 compared with the bit set in the paper."""

    workload: Workload
    varied: str
    symbol: str
    values: Sequence[float]
    papers_ratio: float | None
    """Table 6."""

    def workloads(self) -> list[tuple[float, Workload]]:
        """One for each value."""
        return [(value, replace(self.workload, **{self.varied: value})) for value in self.values]


def experiments(values: Mapping[str, Sequence[float]]) -> dict[str, Experiment]:
    """Table 5, with the values that the varied parameters take."""
    first = Workload(0, 1_000, 0.002, 0.5, 10)
    second = Workload(1_000, 0, 1, 3, 100, diverse=True)
    third = Workload(1_000, 100, 0, 1, 1_000)
    fourth = Workload(50, 500, 0.1, 0, 100)
    fifth = Workload(1_000, 600, 1, 3, 0, diverse=True)
    return {
        "1": Experiment(first, "queries", "queries", values["1"], None),
        "1, λ × 10": Experiment(replace(first, rate=0.02), "queries", "queries", values["1"], 350),
        "2": Experiment(second, "longest_slide", "longest slide", values["2"], 2_200),
        "3": Experiment(third, "rate", "λ", values["3"], 3_800),
        "4": Experiment(fourth, "skew", "Zipf skew", values["4"], 14_000),
        "5": Experiment(fifth, "largest_overlap", "largest overlap", values["5"], 5_600),
    }


@dataclass(frozen=True)
class Settings:
    """What is run."""

    experiments: Mapping[str, Experiment]
    limits: Limits
    most_for_full_search: int
    """Distinct slides: the full search takes minutes beyond."""
    many: Workload
    most: Workload
    seconds: tuple[float, float]
    """What WeaveShare may take for each of the two; a run is stopped at twice that; the fastest counts."""
    repeats: int = 3
    rates: tuple[float, ...] = (0.02, 1, 100)
    finals: tuple[str, ...] = ("panes", CostModel.final)
    """The paper's final aggregation and our own."""


FULL = Settings(
    experiments(
        {
            "1": (100, 200, 550, 1_000, 10_000, 100_000, 1_000_000),
            "2": (100, 200, 400, 600, 800, 1_000, 2_000, 5_000, 10_000),
            "3": (100, 400, 900, 3_000, 10_000, 100_000, 1_000_000),
            "4": (0, 0.5, 1, 1.5, 2, 2.25, 5, 10, 100),
            "5": (100, 80, 60, 40, 20, 10, 1),
        }
    ),
    Limits(bit_set_bytes=4 << 30, groups=1 << 16, repeats=5),
    most_for_full_search=120,
    many=Workload(10_000, 1_000, 1, 0.5, 10),
    most=Workload(1_000_000, 1_000, 1, 0.5, 10),
    seconds=(5, 60),
)
QUICK = Settings(
    experiments({"1": (50, 1_000), "2": (50, 400), "3": (100, 10_000), "4": (0, 2), "5": (100, 10)}),
    Limits(bit_set_bytes=1 << 27, groups=1 << 12, repeats=3),
    most_for_full_search=60,
    many=Workload(1_000, 200, 1, 0.5, 10),
    most=Workload(20_000, 200, 1, 0.5, 10),
    seconds=(5, 60),
)


class Planning:
    """One run of the benchmark."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def run(self) -> dict[str, Any]:
        """Measure everything; the report."""
        facts = machine()
        curve = bit_set_curve(self.settings.limits.bit_set_bytes)
        report: dict[str, Any] = {
            "machine": facts,
            "bit_set": {"limit_bytes": self.settings.limits.bit_set_bytes, "curve": curve},
            "experiments": {
                name: self._experiment(name, experiment, seconds_an_instant(curve))
                for name, experiment in self.settings.experiments.items()
            },
            "planning": [
                self._plan(replace(workload, rate=rate), final, bound)
                for workload, bound in zip((self.settings.many, self.settings.most), self.settings.seconds)
                for final in self.settings.finals
                for rate in self.settings.rates
            ],
        }
        return {**report, "bars": [bar.row() for bar in bars(report)]}

    def _experiment(self, name: str, experiment: Experiment, an_instant: float) -> dict[str, Any]:
        points = []
        for value, workload in experiment.workloads():
            point = self._point(workload, an_instant)
            points.append({"value": value, **point})
            console.print(_line(name, experiment, points[-1]))
        return {
            "varied": experiment.symbol,
            "papers_ratio": experiment.papers_ratio,
            "mean_ratios": {memory: mean_ratio(points, memory) for memory in MEMORIES},
            "points": points,
        }

    def _point(self, workload: Workload, an_instant: float) -> dict[str, Any]:
        windows = workload.windows()
        slides = len({window.slide for window in windows})
        asked = Asked()
        plan = weave_share(windows, CostModel(workload.rate, final="panes", counter=asked))
        point = {
            "slides": slides,
            "trees": len(plan.trees),
            "cost": plan.cost,
            "seconds": plan.seconds,
            "full_search": None,
        }
        if slides <= self.settings.most_for_full_search:
            asked = Asked()
            full = full_pairwise(windows, CostModel(workload.rate, final="panes", counter=asked))
            point["full_search"] = {"seconds": full.seconds, "cost": full.cost, "trees": len(full.trees)}
        return {**point, "counting": compare(asked.sets, self.settings.limits, an_instant)}

    def _plan(self, workload: Workload, final: str, bound: float) -> dict[str, Any]:
        windows = workload.windows()
        seconds, processor = [], []
        for _ in range(self.settings.repeats):
            started, worked = perf_counter(), process_time()
            plan = weave_share(windows, CostModel(workload.rate, final=final), deadline=started + 2 * bound)
            seconds.append(perf_counter() - started)
            processor.append(process_time() - worked)
        measured = {
            "queries": workload.queries,
            "rate": workload.rate,
            "final": final,
            "windows": len(windows),
            "slides": len({window.slide for window in windows}),
            "trees": len(plan.trees),
            "seconds": min(seconds),
            "slowest_seconds": max(seconds),
            "processor_seconds": min(processor),
            "bound": bound,
        }
        console.print(
            f"{workload.queries:,} queries, λ {workload.rate:g}, {final}: {measured['seconds']:.2f} s "
            f"({measured['processor_seconds']:.2f} s of the processor), "
            f"{measured['slides']} slides in {measured['trees']} trees"
        )
        return measured


class Asked:
    """A counter that notes what it is asked for, with a second as the unit of time."""

    def __init__(self) -> None:
        self.sets: list[Set] = []

    def __call__(self, combs: Set) -> EdgeRate:
        self.sets.append([Comb(comb.period // SECOND, comb.phase // SECOND) for comb in combs])
        return edge_rate(combs)


def bars(report: Mapping[str, Any]) -> list[Bar]:
    """The promises."""
    points = [point for experiment in report["experiments"].values() for point in experiment["points"]]
    found = []
    for queries, bound in {plan["queries"]: plan["bound"] for plan in report["planning"]}.items():
        slowest = max(plan["seconds"] for plan in report["planning"] if plan["queries"] == queries)
        found.append(
            Bar(f"WeaveShare, {queries:,} queries: seconds, the slowest plan", slowest, bound, at_most=True)
        )
    searched = [point for point in points if point["full_search"] is not None]
    worse = max((point["cost"] / point["full_search"]["cost"] for point in searched), default=None)
    found.append(
        Bar("cost of WeaveShare / of the full pairwise search, the worst", worse, 1.01, at_most=True)
    )
    slowest_f1 = min(point["counting"]["f1"]["ratio"] for point in points)
    found.append(Bar("F1 / our counter, the least of all points", slowest_f1, 1, at_most=False))
    for name, experiment in report["experiments"].items():
        bound = experiment["papers_ratio"]
        if bound is not None:
            ratio = experiment["mean_ratios"]["in_memory_of_the_paper"]
            found.append(
                Bar(f"bit set in 96 GB / our counter, experiment {name}, mean", ratio, bound, at_most=False)
            )
    return found


def _line(name: str, experiment: Experiment, point: Mapping[str, Any]) -> str:
    counting = point["counting"]
    bits = counting["bit_set"]
    full = point["full_search"]
    searched = "" if full is None else f", full search {full['seconds']:.2f} s"
    return (
        f"{name}: {experiment.symbol} {point['value']:,g}: "
        f"{point['slides']} slides in {point['trees']} trees, {point['seconds']:.2f} s{searched}; "
        f"{counting['sets']:,} sets, {counting['seconds'] * 1e3:.2f} ms; F1 × {counting['f1']['ratio']:.1f}, "
        f"bit set × {bits['measured']['ratio']:,.0f} measured, "
        f"× {bits['in_memory_here']['ratio']:,.0f} in memory here, "
        f"× {bits['in_memory_of_the_paper']['ratio']:,.0f} in 96 GB "
        f"({counting['sets'] - bits['in_memory_of_the_paper']['sets']} sets beyond)"
    )


def main() -> int:
    """Run it."""
    quick = is_quick(__doc__ or "")
    report = Planning(QUICK if quick else FULL).run()
    return 0 if publish("planning", report, draw, quick=quick) or quick else 1


if __name__ == "__main__":
    sys.exit(main())
