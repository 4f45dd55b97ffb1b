"""The figure of `start`: how a start grows with the number of queries, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

PHASES = {
    "imports": ("Python and imports", "#c9ced3"),
    "Spark session": ("Spark session", "#8b949c"),
    "home and queries": ("home opened, queries read\n(Spark alone: query declared)", "#1f6fb4"),
    "reading nothing": ("empty run", "#7db8de"),
    "ending": ("process ends", "#e4e7ea"),
}
"""By the names that the report has, with their colours: what depends on the queries is blue."""
BAR = "#a8324a"


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    figure, axes = plt.subplots(figsize=(8.6, 4.9), layout="constrained")
    starts = [report["spark_start"], *report["starts"]]
    labels = ["Spark alone,\none query", *(f"{start['queries']:,}" for start in report["starts"])]
    places = [0.0, *(1.5 + place for place in range(len(report["starts"])))]  # the peer stands apart
    below = [0.0] * len(starts)
    for phase, (label, colour) in PHASES.items():
        heights = [start["phases"][phase] for start in starts]
        drawn = axes.bar(
            places, heights, 0.62, below, color=colour, edgecolor="white", linewidth=0.6, label=label
        )
        if phase == "home and queries":
            axes.bar_label(drawn, [f"{height:.1f}" for height in heights], label_type="center", color="white")
        below = [low + height for low, height in zip(below, heights, strict=True)]
    for place, start, high in zip(places, starts, below, strict=True):  # every run: the noise is seen
        runs = [place + 0.38] * len(start["seconds"])
        axes.plot(runs, start["seconds"], ".", color="#333333", markersize=4, alpha=0.6)
        axes.annotate(
            f"{start['median']:.1f} s", (place, high), (0, 4), textcoords="offset points", ha="center",
            fontsize=10, weight="bold",
        )  # fmt: skip
    fewest, most = report["starts"][0], report["starts"][-1]
    bound = 1.5 * fewest["median"]
    axes.plot([places[1] - 0.45, places[-1] + 0.45], [bound] * 2, color=BAR, linestyle=":", linewidth=1.6)
    axes.annotate(
        f"bar: 1.5 × the start with {fewest['queries']:,}", (places[1] - 0.45, bound), (0, 4),
        textcoords="offset points", color=BAR, fontsize=9,
    )  # fmt: skip
    axes.set_xticks(places, labels)
    axes.set_xlabel("queries in the home", x=(places[1] + places[-1]) / 2 / (places[-1] + 0.5))
    axes.set_ylabel("from process start to its end [s]")
    axes.set_ylim(0, 1.18 * max(bound, *(s for start in starts for s in start["seconds"])))
    axes.grid(True, axis="y", color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    ratio = most["median"] / fewest["median"]
    axes.set_title(
        f"A start with {most['queries']:,} queries takes {ratio:.2f} times as long as one with "
        f"{fewest['queries']:,}",
        fontsize=12,
    )  # fmt: skip
    handles, names = axes.get_legend_handles_labels()
    figure.legend(
        handles[::-1], names[::-1], loc="outside right center", frameon=False, fontsize=9,
        title="medians of the phases;\ndots: each start", title_fontsize=9, alignment="left",
    )  # fmt: skip
    figure.savefig(path, dpi=150)
    plt.close(figure)
