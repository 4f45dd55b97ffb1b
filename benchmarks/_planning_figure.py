"""The figure of `planning`: what counting edges takes in each experiment, and what planning takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

OURS, FORMULA, TABLE, BITS = "#1f6fb4", "#d97a2b", "#8a6fb0", "#a8324a"


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    experiments = report["experiments"]
    figure, panels = plt.subplots(2, 4, figsize=(17, 8), layout="constrained")
    for axes, (name, experiment) in zip(panels.flat, experiments.items()):
        _experiment(axes, name, experiment)
    _bit_set(panels.flat[6], report["bit_set"])
    _planning(panels.flat[7], report["planning"])
    figure.suptitle("Counting the edges that WeaveShare asks for, as in Shein's Table 5", fontsize=13)
    handles = [
        plt.Line2D([], [], color=OURS, marker="o", label="Windrow, all sets"),
        plt.Line2D([], [], color=OURS, marker="o", linestyle=":", label="… those that F1 can count"),
        plt.Line2D([], [], color=FORMULA, marker="o", label="F1, those that it can count"),
        plt.Line2D([], [], color=TABLE, marker="o", label="F1 with a table"),
        plt.Line2D([], [], color=BITS, marker="o", label="bit set, those that fit in memory here"),
        plt.Line2D([], [], color=BITS, marker="o", linestyle=":", label="… and in 96 GB (reckoned)"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _experiment(axes: Axes, name: str, experiment: Mapping[str, Any]) -> None:
    points = experiment["points"]
    places = range(len(points))
    counting = [point["counting"] for point in points]
    axes.plot(places, [c["seconds"] for c in counting], color=OURS, marker="o", zorder=3)
    alike = [c["f1"]["ours_seconds"] for c in counting]
    axes.plot(places, alike, color=OURS, linestyle=":", marker="o", markersize=4, zorder=3)
    followed = [place for place in places if counting[place]["f1"]["sets"] < counting[place]["sets"]]
    for method, colour in (("seconds", FORMULA), ("table_seconds", TABLE)):
        seconds = [c["f1"][method] for c in counting]
        axes.plot(places, seconds, color=colour, marker="o", markersize=4)
        axes.plot(
            followed,
            [seconds[place] for place in followed],
            color=colour,
            linestyle="",
            marker="x",
            markersize=9,
        )
    for memory, style in (("in_memory_here", "-"), ("in_memory_of_the_paper", ":")):
        seconds = [c["bit_set"][memory]["seconds"] for c in counting]
        axes.plot(places, seconds, color=BITS, linestyle=style, marker="o", markersize=4)
        beyond = [
            place for place in places if counting[place]["bit_set"][memory]["sets"] < counting[place]["sets"]
        ]
        axes.plot(
            beyond, [seconds[place] for place in beyond], color=BITS, linestyle="", marker="x", markersize=9
        )
    axes.set_xticks(list(places), [_number(point["value"]) for point in points], fontsize=7, rotation=30)
    axes.set_xlabel(f"{experiment['varied']} (×: some sets are beyond it)", fontsize=8)
    axes.set_title(f"experiment {name}: seconds of counting", fontsize=10)
    _plain(axes)


def _bit_set(axes: Axes, bits: Mapping[str, Any]) -> None:
    measured = [point for point in bits["curve"] if point["seconds"] is not None]
    axes.plot(
        [p["instants"] for p in measured],
        [p["seconds"] for p in measured],
        color=BITS,
        marker="o",
        markersize=4,
    )
    axes.axvline(bits["limit_bytes"], color=BITS, linestyle="--", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("instants in the composite slide; dashed: the limit of memory", fontsize=8)
    axes.set_title("one bit set: seconds", fontsize=10)
    _plain(axes)


def _planning(axes: Axes, plans: list[Mapping[str, Any]]) -> None:
    names = [f"{plan['queries']:,}, λ {plan['rate']:g}, {plan['final']}" for plan in plans]
    axes.barh(names, [plan["seconds"] for plan in plans], color=OURS)
    for name, plan in zip(names, plans):
        axes.plot([plan["bound"]], [name], color="black", marker="|", markersize=11)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(0.1, 100)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title("WeaveShare: seconds of planning (|: the bar)", fontsize=10)
    axes.tick_params(axis="y", labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def _plain(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.grid(True, axis="y", color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
