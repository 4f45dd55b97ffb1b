"""The figure of `aggregates`: time and space of each kind, and the quality of frequent items."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from _harness import plain_ticks
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

FAMILIES = {
    "distributive": "#1f6fb4",
    "algebraic": "#2a9d8f",
    "ordered": "#8a6fb0",
    "exact": "#d97a2b",
    "approximate": "#a8324a",
}
PANELS = {
    "delta": "(a) δ / N",
    "over": "(b) items over δ",
    "reported": "(c) items reported",
    "identified": "(d) part of (b) reported",
    "pairs": "(e) pairs kept",
    "relative_error": "(f) relative error of counts",
}
SLICES = ("#1f6fb4", "#d97a2b", "#2a9d8f")


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    keys, traces = report["size"]["keys"], report["frequent_items"]
    figure = plt.figure(figsize=(15, 6.2 + 5.2 * len(traces)), layout="constrained")
    parts = figure.subfigures(1 + len(traces), 1, height_ratios=[6.2, *[5.2] * len(traces)])
    panels = parts[0].subplots(1, 2 * len(keys), sharey=True)
    for number, count in enumerate(keys):
        measured = [m for m in report["measurements"] if m["keys"] == count]
        label = f"{count:,} key{'s'[: count != 1]}"
        _times(panels[2 * number], measured, f"time a slide, {label} [ms]")
        _bytes(panels[2 * number + 1], measured, f"state a window and key, {label} [bytes]")
    parts[0].suptitle(
        f"Every kind of aggregate over windows of {report['size']['overlap']} slides, "
        f"{report['size']['rows_a_slide']:,} rows a slide",
        fontsize=13,
    )
    handles = [
        plt.Line2D([], [], marker="s", linestyle="", color=color, label=f"Windrow, {family}")
        for family, color in FAMILIES.items()
    ]
    handles.append(_mark("|", 11, "DuckDB, recomputing the window from the files"))
    if any(m["spark_ms_per_slide"] is not None for m in report["measurements"]):
        handles.append(_mark("x", 6, "Spark's window()"))
    parts[0].legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, frameon=False
    )
    for part, (name, trace) in zip(parts[1:], traces.items(), strict=True):
        _trace(part, name, trace)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _mark(marker: str, size: int, label: str) -> Any:
    return plt.Line2D([], [], marker=marker, linestyle="", color="black", markersize=size, label=label)


def _bars(axes: Axes, measured: list[Mapping[str, Any]], field: str, title: str) -> None:
    names = [m["name"] for m in measured]
    axes.barh(
        names, [m[field] for m in measured], color=[FAMILIES[m["family"]] for m in measured], height=0.66
    )
    axes.invert_yaxis() if not axes.yaxis_inverted() else None
    axes.set_xscale("log")
    axes.set_title(title, fontsize=10)
    axes.grid(True, axis="x", color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _times(axes: Axes, measured: list[Mapping[str, Any]], title: str) -> None:
    _bars(axes, measured, "ms_per_slide", title)
    plain_ticks(axes.xaxis)
    for field, marker, size in (("duckdb_files_ms", "|", 130), ("spark_ms_per_slide", "x", 28)):
        known = [m for m in measured if m[field] is not None]
        axes.scatter(
            [m[field] for m in known],
            [m["name"] for m in known],
            marker=marker,
            s=size,
            color="black",
            zorder=3,
        )


def _bytes(axes: Axes, measured: list[Mapping[str, Any]], title: str) -> None:
    _bars(axes, measured, "bytes_per_window", title)


def _trace(part: Any, name: str, trace: Mapping[str, Any]) -> None:
    """The six panels of 002's Figure 6.3."""
    panels = part.subplots(2, 3).flatten()
    for axes, (field, title) in zip(panels, PANELS.items(), strict=True):
        sizes = sorted({point["slice"] for point in trace["points"]})
        for size, color in zip(sizes, SLICES, strict=False):
            points = [p for p in trace["points"] if p["slice"] == size and p[field] is not None]
            axes.plot(
                [p["k"] for p in points], [p[field] for p in points], marker="o", markersize=4, linewidth=1.5,
                color=color, label=f"{size} rows a slice",
            )  # fmt: skip
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("k", fontsize=9)
        axes.set_ylim(bottom=0)
        axes.grid(True, color="#e4e4e4", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    panels[0].legend(fontsize=8, frameon=False)
    part.suptitle(
        f"FREQUENT_ITEMS on {name}: {trace['different_items']:,} different items, windows of "
        f"{trace['window']:,} rows, {trace['windows']} of them",
        fontsize=12,
    )
