"""The figure of `nodes`: an epoch in the driver and in tasks, and estimated against executed cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from _harness import plain_ticks
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

WAYS = {"driver": "#c9b458", "tasks": "#1f6fb4", "planned": "#444444"}
KINDS = {"g": "#c9b458", "w": "#8fbbe0", "wg": "#1f6fb4"}


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
    _epochs(left, report)
    _agreement(middle, report, "total", "(b) all nodes together")
    _agreement(right, report, "maximum", "(c) the busiest node")
    figure.suptitle(f"Windows held by {report['nodes']} Spark tasks", fontsize=13)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _epochs(axes: Axes, report: Mapping[str, Any]) -> None:
    for way, color in WAYS.items():
        answers = [row[way]["answers"] for row in report["spread"]]
        seconds = [row[way]["seconds"] for row in report["spread"]]
        style = ":" if way == "planned" else "-"
        label = {"driver": "in the driver", "tasks": "in Spark tasks", "planned": "as Windrow chooses"}[way]
        axes.plot(answers, seconds, style, marker="o", color=color, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_ticks(axes.yaxis)
    axes.set_xlabel("answers of an epoch")
    axes.set_ylabel("seconds of an epoch")
    axes.set_title("(a) an epoch", fontsize=11)
    axes.legend(frameon=False, fontsize=9)
    _plain(axes)


def _agreement(axes: Axes, report: Mapping[str, Any], measure: str, title: str) -> None:
    rows = report["placed"]
    most_said, most_done = (max(row[measure][side] for row in rows) for side in (0, 1))
    axes.plot([0, 1.05], [0, 1.05], color="#bbbbbb", linewidth=1)
    for row in rows:
        said, done = row[measure][0] / most_said, row[measure][1] / most_done
        name = row["placement"]
        axes.plot(said, done, "o", color=KINDS[name.partition("_")[0]])
        if measure == "maximum":  # the totals lie too close together for names
            left = name in ("g_tl", "w_tl")
            place = {"xytext": (-5 if left else 5, 3), "ha": "right" if left else "left"}
            axes.annotate(name.upper(), (said, done), textcoords="offset points", fontsize=7, **place)
    for kind, what in (("g", "a tree a query"), ("w", "a tree a node"), ("wg", "trees on nodes")):
        axes.plot([], [], "o", color=KINDS[kind], label=f"{kind.upper()}: {what}")
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    axes.set_xlim(0, 1.15)
    axes.set_ylim(0, 1.15)
    axes.set_xlabel("estimated cost (largest: 1)")
    axes.set_ylabel("executed (largest: 1)")
    axes.set_title(f"{title}: off by {report['deviation'][measure]:g} % on average", fontsize=11)
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.grid(True, color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
