"""The figure of `final`: time a value against the window, a panel an aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

STYLES: dict[str, dict[str, Any]] = {
    "pandas": {"color": "#a8324a", "marker": "D"},
    "polars": {"color": "#d97a2b", "marker": "s"},
    "bottleneck": {"color": "#7d8f2e", "marker": "v"},
    "numbagg": {"color": "#8a5fa8", "marker": "P"},
    "Windrow, new array": {"color": "#8fbbe0", "marker": "o"},
    "Windrow": {"color": "#1f6fb4", "marker": "o"},
    "memcpy": {"color": "#555555", "linestyle": "--"},
}


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    ops = sorted({m["op"] for m in report["measurements"]})
    figure, panels = plt.subplots(1, len(ops), figsize=(11, 5.2), sharey=True, layout="constrained")
    for axes, op in zip(panels, ops, strict=True):
        _panel(axes, [m for m in report["measurements"] if m["op"] == op])
        axes.set_title(op, fontsize=11)
    panels[0].set_ylabel("time [ns a value]")
    figure.suptitle(f"Sliding windows over {report['values']:,} floats", fontsize=13)
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(axes: Axes, measured: list[Mapping[str, Any]]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("window [values]")
    axes.grid(True, which="major", color="#e4e4e4", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_formatter("{x:g}")
    for way, style in STYLES.items():
        rows = sorted((m for m in measured if m["way"] == way), key=lambda m: m["window"])
        axes.plot(
            [m["window"] for m in rows], [m["nanoseconds_a_value"] for m in rows], label=way,
            linewidth=1.6, markersize=4, **style,
        )  # fmt: skip
