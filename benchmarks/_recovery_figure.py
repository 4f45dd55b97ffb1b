"""The figure of `recovery`: starts against window size and against age, and where an epoch's time goes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

WINDROW, SPARK, LOG = "#1f6fb4", "#555555", "#d97a2b"
PARTS = {
    "writing slices": "#9ec9e6",
    "fsync": "#4f97cb",
    "transaction": "#1f6fb4",
    "removing": "#0b3c66",
}
"""The steps of a commit, as the engine counts them, with their colours."""


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.8), layout="constrained")
    settings, plain = report["settings"], report["spark_start"]
    others = {
        "Spark's own start: first batch aggregated": (report["spark_start_aggregated"], "-."),
        "Spark's own start from archived classes": (report["spark_start_archived"], (0, (1, 2))),
    }
    window = settings["ages_window"]
    by_window = [r for r in report["recoveries"] if r["epochs"] == settings["windows_epochs"]]
    by_age = [
        r for r in report["recoveries"] if (r["range"], r["slide"]) == (window["range"], window["slide"])
    ]
    by_window.sort(key=lambda r: r["home"]["entries"])
    by_age.sort(key=lambda r: r["epochs"])
    top = 1.12 * max(_allowed(r, plain) for r in report["recoveries"])
    top = max(top, 1.12 * max(s for r in report["recoveries"] for s in r["seconds"]))

    _starts(panels[0], [r["home"]["entries"] for r in by_window], by_window, plain, others)
    panels[0].set_xlabel("partials in the window state")
    panels[0].set_title(f"window size ({settings['windows_epochs']:,} epochs)", fontsize=11)
    for place, r in enumerate(by_window):  # at two heights, since some are near each other
        name = r["label"].split(",")[0].replace(" SLIDE", "\nSLIDE")
        panels[0].annotate(
            name, (r["home"]["entries"], 0), (0, 6 + 28 * (place % 2)),
            textcoords="offset points", fontsize=8, ha="center",
        )  # fmt: skip
    _starts(panels[1], [r["epochs"] for r in by_age], by_age, plain, others)
    logs = report["spark_log"]
    panels[1].plot(
        [log["files"] for log in logs], [log["median"] for log in logs], color=LOG, marker="s",
        linestyle="--", label="Spark's own start, as many files in its log",
    )  # fmt: skip
    panels[1].set_xlabel("age of the home [epochs]")
    panels[1].set_title(f"age ({by_age[0]['label'].split(',')[0]})", fontsize=11)
    for axes in panels[:2]:
        axes.set_ylim(0, top)
        axes.set_ylabel("from process start to the first answer [s]")
    handles, labels = panels[1].get_legend_handles_labels()
    _commits(panels[2], report["commits"])
    figure.suptitle("Restart to the first new answer, and what a commit costs", fontsize=13)
    figure.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _allowed(recovery: Mapping[str, Any], plain: Mapping[str, Any]) -> float:
    return float(plain["median"] + 2 * recovery["steady"])


def _starts(
    axes: Axes,
    places: list[float],
    recoveries: list[Mapping[str, Any]],
    plain: Mapping[str, Any],
    others: Mapping[str, tuple[Mapping[str, Any], Any]],
) -> None:
    axes.set_xscale("log")
    for place, recovery in zip(places, recoveries, strict=True):  # every run, so that the noise is seen
        axes.plot([place] * len(recovery["seconds"]), recovery["seconds"], ".", color=WINDROW, alpha=0.5)
    axes.plot(
        places, [r["median"] for r in recoveries], color=WINDROW, marker="o", linewidth=1.8,
        label="Windrow: first new answers committed (dots: each run)",
    )  # fmt: skip
    axes.plot(
        places, [_allowed(r, plain) for r in recoveries], color="#a8324a", linestyle=":", marker="_",
        label="bar: Spark's own start + 2 epochs",
    )  # fmt: skip
    axes.axhline(
        plain["median"], color=SPARK, linestyle="--", linewidth=1.2,
        label="Spark's own start: first batch counted (band: its runs)",
    )  # fmt: skip
    for label, (start, style) in others.items():
        axes.axhline(start["median"], color=SPARK, linestyle=style, linewidth=0.9, label=label)
    axes.axhspan(min(plain["seconds"]), max(plain["seconds"]), color=SPARK, alpha=0.12, linewidth=0)
    axes.grid(True, which="major", axis="y", color="#e4e4e4", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.25)


def _commits(axes: Axes, commits: list[Mapping[str, Any]]) -> None:
    places = range(len(commits))
    below = [0.0] * len(commits)
    for part, colour in PARTS.items():
        heights = [100 * commit["parts"][part] / commit["seconds"] for commit in commits]
        axes.bar(places, heights, 0.6, below, color=colour, label=part)
        below = [low + height for low, height in zip(below, heights, strict=True)]
    heights = [100 * commit["parts"]["writing answers"] / commit["seconds"] for commit in commits]
    axes.bar(
        places, heights, 0.6, below, color="white", edgecolor="#999999", hatch="///",
        label="writing answers (while they are made)",
    )  # fmt: skip
    axes.axhline(15, color="#a8324a", linestyle=":", label="bar, for the largest")
    axes.set_xticks(
        places, [f"{commit['rows']:,} rows\n{commit['seconds']:.2f} s" for commit in commits], fontsize=9
    )
    axes.set_ylabel("part of an epoch [%]")
    axes.set_title("commit", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(0, max(25, 1.6 * axes.get_ylim()[1]))  # room for the legend above the bars
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")
