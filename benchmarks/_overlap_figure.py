"""The figure of `overlap`: time against overlap, a panel a size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

STYLES: dict[str, dict[str, Any]] = {
    "native batch": {"color": "#d97a2b", "marker": "s"},
    "native streaming": {"color": "#a8324a", "marker": "D"},
    "Windrow": {"color": "#1f6fb4", "marker": "o"},
    "floor": {"color": "#555555", "marker": "^"},
}
NAMES = {"native batch": "Spark window(), batch", "native streaming": "Spark window(), streaming"}


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    sizes = report["sizes"]
    figure, panels = plt.subplots(1, len(sizes), figsize=(11, 5.2), sharey=True, layout="constrained")
    for axes, (name, size) in zip(panels, sizes.items(), strict=True):
        measured = [m for m in report["measurements"] if m["size"] == name]
        _panel(axes, measured, report["budget_seconds"])
        axes.set_title(f"{size['rows']:,} rows, {size['keys']:,} keys", fontsize=11)
    panels[0].set_ylabel("time [s]")
    figure.suptitle("Sum and max by key over a sliding window: time against overlap", fontsize=13)
    figure.legend(handles=_legend(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(axes: Axes, measured: list[Mapping[str, Any]], budget: float) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    overlaps = sorted({m["overlap"] for m in measured})
    axes.set_xticks(overlaps, [f"{overlap:,}" for overlap in overlaps])
    axes.minorticks_off()
    axes.set_xlabel("overlap = RANGE / SLIDE (windows a row is part of)")
    axes.grid(True, which="major", color="#e4e4e4", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_formatter("{x:g}")
    lifted = 0
    for way, style in STYLES.items():
        rows = sorted((m for m in measured if m["way"] == way), key=lambda m: m["overlap"])
        line = [m for m in rows if m["slide"] == 1]
        done = [m for m in line if m["median"] is not None]
        axes.plot(
            [m["overlap"] for m in done], [m["median"] for m in done], linewidth=1.8, markersize=6,
            linestyle="--" if way == "floor" else "-", zorder=3, **style,
        )  # fmt: skip
        for m in rows:
            if m["slide"] != 1 and m["median"] is not None:
                axes.plot(
                    m["overlap"], m["median"], markersize=9, markerfacecolor="white", markeredgewidth=1.6,
                    linestyle="", zorder=4, **style,
                )  # fmt: skip
        undone = [m for m in line if m["median"] is None]
        if undone:
            # One row of crosses a way, above the budget, so that two ways do not hide each other. How
            # far above says nothing, so no line leads there.
            height = budget * 1.35 * 1.35**lifted
            lifted += 1
            for m in undone:
                tried = m["status"].startswith("not finished")
                axes.plot(
                    m["overlap"], height, marker="x", markersize=9, markeredgewidth=2.2, linestyle="",
                    color=style["color"], alpha=1.0 if tried else 0.35,
                )  # fmt: skip
    if lifted:
        axes.axhline(budget, color="#999999", linewidth=0.9)
        axes.annotate(
            f"↑ not finished in {budget:g} s", (overlaps[0], budget), (0, 4),
            textcoords="offset points", fontsize=8.5, color="#555555", ha="left", va="bottom",
        )  # fmt: skip


def _legend() -> list[Line2D]:
    lines = [
        Line2D([], [], label=NAMES.get(way, way), linestyle="--" if way == "floor" else "-", **style)
        for way, style in STYLES.items()
    ]
    hollow = Line2D(
        [], [], label="hollow: SLIDE 10 s (lines: SLIDE 1 s)", color="#555555", marker="o", linestyle="",
        markerfacecolor="white", markersize=9,
    )  # fmt: skip
    crosses = [
        Line2D(
            [], [], label=label, color="#555555", marker="x", linestyle="", alpha=alpha, markeredgewidth=2.2
        )
        for label, alpha in (("stopped, not finished", 1.0), ("not attempted after that", 0.35))
    ]
    return [*lines, hollow, *crosses]
