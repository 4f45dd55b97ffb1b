"""The figure of `many_queries`: time against the number of queries, the classes, and the estimates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

STYLES: dict[str, dict[str, Any]] = {
    "planned": {"color": "#1f6fb4", "marker": "o", "label": "Windrow, as it plans"},
    "max_share": {"color": "#5aa35a", "marker": "v", "label": "max-share"},
    "tri_weave": {"color": "#8a6fb4", "marker": "s", "label": "TriWeave"},
    "weave_share": {"color": "#d9a52b", "marker": "D", "label": "WeaveShare"},
    "no_share": {"color": "#a8324a", "marker": "x", "label": "no sharing"},
}


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    figure, (counts, classes, estimates) = plt.subplots(
        1, 3, figsize=(15.5, 4.8), layout="constrained", width_ratios=(2, 1, 1.6)
    )
    for way, style in STYLES.items():
        rows = [m for m in report["measurements"] if m["way"] == way]
        counts.plot([m["queries"] for m in rows], [m["epochs"] for m in rows], linewidth=1.8, **style)
    seconds = report["native"]["seconds"]
    if seconds:
        done = range(1, len(seconds) + 1)
        taken = [sum(seconds[:n]) for n in done]
        counts.plot(done, taken, color="#d97a2b", linestyle="--", label="Spark window(), one by one")
    counts.set_xscale("log")
    counts.set_yscale("log")
    counts.set_ylim(bottom=0.1)
    counts.yaxis.set_major_formatter("{x:g}")
    counts.xaxis.set_major_formatter("{x:,.0f}")
    counts.set_xlabel("queries over one stream")
    counts.set_ylabel("time of the epochs, without writing results [s]")
    rows = report["settings"]["rows"]
    counts.set_title(f"Ungrouped queries over {rows:,} rows", fontsize=11)
    counts.legend(frameon=False, fontsize=9)
    found = report["classes"]
    bars = {"each class alone\n(sum)": found["alone_total"], "together": found["together"]["epochs"]}
    drawn = classes.bar(list(bars), list(bars.values()), color=["#a8324a", "#1f6fb4"], width=0.55)
    classes.bar_label(drawn, [f"{value:.1f} s" for value in bars.values()], fontsize=9)
    classes.set_title(f"{found['queries']:,} queries in {found['classes']} classes", fontsize=11)
    classes.set_ylabel("time of the epochs [s]")
    _estimates(estimates, report["estimates"])
    for axes in (counts, classes, estimates):
        axes.grid(True, which="major", axis="y", color="#e4e4e4", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("Many queries in one job", fontsize=13)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _estimates(axes: Any, found: Mapping[str, Any]) -> None:
    """What plans were thought to take, against what they took; on the line, both are the same."""
    seconds: list[float] = []
    for way, style in STYLES.items():
        runs = [run for run in found["measurements"] if run["way"] == way]
        if not runs:
            continue
        off = found["deviations"][way]
        label = f"{style['label']}: {off['absolute']:.0%} off, {off['scaled']:.0%} scaled"
        executed, estimated = ([run[name] for run in runs] for name in ("epochs", "estimated"))
        axes.plot(executed, estimated, linestyle="none", **style | {"label": label})
        seconds += executed + estimated
    ends = [min(seconds), max(seconds)]
    axes.plot(ends, ends, color="#999999", linewidth=1, zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("executed [s]")
    axes.set_ylabel("estimated [s]")
    axes.set_title("What the planner thought, and what it was", fontsize=11)
    axes.legend(frameon=False, fontsize=8)
