"""The figure of `joins`: throughput, what may not depend on the window, evaluations, what DISTINCT holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from _harness import plain_ticks
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

BLUE, RED, GREY = "#1f6fb4", "#a8324a", "#777777"
LINES = ("-", "--", ":")
MEASURES = {
    "nanoseconds_each": ("time", BLUE, "o"),
    "operator_nanoseconds_each": ("time of the operator alone", "#8fbbe0", "s"),
    "state_bytes_an_epoch": ("state an epoch writes", "#d97a2b", "^"),
    "touched_each": ("rows touched", GREY, "D"),
}


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    figure, panels = plt.subplots(2, 2, figsize=(11, 8.6), layout="constrained")
    _throughput(panels[0, 0], report)
    _over_windows(panels[0, 1], report)
    _evaluations(panels[1, 0], report)
    _distinct(panels[1, 1], report["distinct"])
    for axes in panels.flat:
        axes.grid(True, axis="y", which="major", color="#e4e4e4", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("Joins of two links, with keys scaled so that results a row stay as many", fontsize=13)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _throughput(axes: Axes, report: Mapping[str, Any]) -> None:
    measured = report["compared"]
    for line, results in zip(LINES, _all(measured, "results"), strict=False):
        mine = [m for m in measured if m["results"] == results and m["rows_a_second"] is not None]
        for label, color, marker, is_windrow in (("Windrow", BLUE, "o", True), ("Spark", RED, "D", False)):
            best: dict[int, float] = {}
            for m in mine:
                if (m["way"] == "Windrow") is is_windrow:
                    best[m["window"]] = max(best.get(m["window"], 0.0), m["rows_a_second"])
            name = f"{label}, {_results(results)}"
            axes.plot(list(best), list(best.values()), line, color=color, marker=marker, label=name)
    _windows(axes, measured)
    axes.set_yscale("log")
    plain_ticks(axes.yaxis)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("rows a second")
    axes.set_title("(a) INTERNAL join, and Spark's interval join", fontsize=11)
    axes.legend(frameon=False, fontsize=8.5)


def _over_windows(axes: Axes, report: Mapping[str, Any]) -> None:
    measured = report["alone"]
    for line, results in zip(LINES, _all(measured, "results"), strict=False):
        mine = sorted((m for m in measured if m["results"] == results), key=lambda m: m["window"])
        for column, (label, color, marker) in MEASURES.items():
            values = [m[column] / mine[0][column] for m in mine]
            axes.plot([m["window"] for m in mine], values, line, color=color, marker=marker)
            if line == LINES[0]:
                axes.plot([], [], "-", color=color, marker=marker, label=label)
        axes.plot([], [], line, color="black", label=_results(results))
    _windows(axes, measured)
    axes.set_ylim(0, 1.4 * axes.get_ylim()[1])
    axes.set_ylabel("times what it is at the smallest window")
    axes.set_title("(b) for a row and result, Windrow", fontsize=11)
    axes.legend(frameon=False, fontsize=8.5, ncols=2, loc="upper left")


def _evaluations(axes: Axes, report: Mapping[str, Any]) -> None:
    found = report["evaluations"]
    for offset, (way, color) in zip((-0.2, 0.2), (("Windrow", BLUE), ("DuckDB", RED)), strict=True):
        values = [1e3 * one[way] for one in found]
        bars = axes.bar([place + offset for place in range(len(found))], values, 0.38, color=color, label=way)
        axes.bar_label(bars, [f"{value:.2g}" for value in values], fontsize=9)
    labels = [f"{_results(one['results'])}:\n{one['pairs']:,} pairs a window" for one in found]
    axes.set_xticks(range(len(found)), labels)
    axes.set_ylabel("time of an evaluation [ms]")
    axes.set_title(f"(c) GROUP BY over a join, overlap 60, {found[0]['window']:,} rows", fontsize=11)
    axes.legend(frameon=False, fontsize=8.5)


def _distinct(axes: Axes, held: Mapping[str, Any]) -> None:
    names = {"rows in the window": "window", "rows held": "entries", "sources in the window": "sources"}
    values = [held[name] for name in names.values()]
    bars = axes.bar(list(names), values, 0.5, color=[GREY, BLUE, "#8fbbe0"])
    axes.bar_label(bars, [f"{value:,}" for value in values], fontsize=9)
    axes.set_yscale("log")
    axes.set_title("(d) DISTINCT sources of packets", fontsize=11)


def _windows(axes: Axes, measured: list[Mapping[str, Any]]) -> None:
    windows = _all(measured, "window")
    axes.set_xscale("log")
    axes.set_xticks(windows, [f"{window:,}" for window in windows])
    axes.minorticks_off()
    axes.set_xlabel("rows of a link in its window")


def _all(measured: list[Mapping[str, Any]], column: str) -> list[int]:
    return sorted({m[column] for m in measured})


def _results(count: int) -> str:
    return f"{count} result{'' if count == 1 else 's'} a row"
