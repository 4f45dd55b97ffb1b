"""The figure of the final aggregators: 004's Figures 16 to 19 and 23 to 29, from our own measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

STYLES: dict[str, dict[str, Any]] = {
    "blocked_two_stacks": {"color": "#1f6fb4", "marker": "o"},
    "subtract_on_evict": {"color": "#0f9d8a", "marker": "X"},
    "slick_deque_inv": {"color": "#2e8b3a", "marker": "^"},
    "slick_deque_non_inv": {"color": "#2e8b3a", "marker": "^"},
    "two_stacks": {"color": "#8fbbe0", "marker": "s"},
    "daba": {"color": "#8a5fa8", "marker": "P"},
    "flat_fit": {"color": "#d97a2b", "marker": "D"},
    "flat_fat": {"color": "#a8324a", "marker": "v"},
    "b_int": {"color": "#d98aa0", "marker": "<"},
    "recalculate": {"color": "#777777", "marker": "."},
}
TABLE_4 = {"n": 1, "2n": 2}


def draw_algorithms(measured: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    figure, panels = plt.subplots(3, 3, figsize=(16, 13.5), layout="constrained")
    _rates(panels[0, 0], measured["single"], "sum", "One query, sum (Fig. 23)", "slides a second")
    _rates(panels[0, 1], measured["single"], "max", "One query, max (Figs. 16, 24)", "slides a second")
    _ratio(panels[0, 2], measured)
    _rates(
        panels[1, 0], measured["all_ranges"], "sum", "All ranges, sum (Fig. 25)", "answers a second", _answers
    )
    title = "All ranges, max (Figs. 17, 26)"
    _rates(panels[1, 1], measured["all_ranges"], "max", title, "answers a second", _answers)
    _operations(panels[1, 2], measured["operations"])
    _latency(panels[2, 0], measured)
    _spikes(panels[2, 1], measured)
    _memory(panels[2, 2], measured["memory"])
    handles = {}
    for axes in panels.flat:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    names = [name for name in STYLES if name in handles]
    figure.legend(
        [handles[name] for name in names], names, loc="outside lower center", ncols=5, frameon=False
    )
    figure.suptitle("Final aggregation: one key, every slide answered", fontsize=14)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _plain(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(True, which="major", color="#e4e4e4", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)


def _slides(row: Mapping[str, Any]) -> float:
    return float(row["slides_a_second"])


def _answers(row: Mapping[str, Any]) -> float:
    return float(row["slides_a_second"] * row["window"])


def _rates(
    axes: Axes,
    rows: list[Mapping[str, Any]],
    op: str,
    title: str,
    y: str,
    rate: Callable[[Mapping[str, Any]], float] = _slides,
) -> None:
    _plain(axes, title, "window [partials]", y)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for name, style in STYLES.items():
        own = [row for row in rows if row["op"] == op and row["algorithm"] == name]
        if own:
            axes.plot([r["window"] for r in own], [rate(r) for r in own], label=name, markersize=4, **style)


def _ratio(axes: Axes, measured: Mapping[str, Any]) -> None:
    _plain(axes, "FlatFIT / FlatFAT, max (Fig. 18)", "window [partials]", "throughput ratio")
    axes.set_xscale("log", base=2)
    for kind, style in (("single", {"color": "#d97a2b"}), ("all_ranges", {"color": "#a8324a"})):
        rates = {
            (r["algorithm"], r["window"]): r["slides_a_second"] for r in measured[kind] if r["op"] == "max"
        }
        windows = sorted(
            {w for name, w in rates if name == "flat_fit"} & {w for name, w in rates if name == "flat_fat"}
        )
        ratios = [rates["flat_fit", w] / rates["flat_fat", w] for w in windows]
        axes.plot(windows, ratios, marker="o", markersize=4, **style)
        axes.annotate(kind.replace("_", " "), (windows[-1], ratios[-1]), fontsize=9, color=style["color"])
    axes.axhline(1, color="#555555", linewidth=0.8, linestyle="--")


def _operations(axes: Axes, rows: list[Mapping[str, Any]]) -> None:
    _plain(axes, "Operations a slide, counted (Figs. 11, 13)", "window [partials]", "average; bar: worst")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for name, style in STYLES.items():
        own = [
            r
            for r in rows
            if r["algorithm"] == name and r["op"] == ("max" if name != "slick_deque_inv" else "sum")
        ]
        own = own or [r for r in rows if r["algorithm"] == name]
        if own:
            windows, averages = [r["window"] for r in own], [max(r["average"], 0.1) for r in own]
            axes.plot(windows, averages, label=name, markersize=4, **style)
            axes.vlines(windows, averages, [r["worst"] for r in own], color=style["color"], alpha=0.35)


def _latency(axes: Axes, measured: Mapping[str, Any]) -> None:
    _plain(axes, f"Latency, window {measured['latency_window']:,} (Fig. 27)", "", "ns a slide")
    axes.set_yscale("log")
    rows = [r for r in measured["latency"] if r["op"] == "max"]
    rows += [r for r in measured["latency"] if r["algorithm"] in ("subtract_on_evict", "slick_deque_inv")]
    for place, row in enumerate(rows):
        p, style = row["percentiles"], STYLES[row["algorithm"]]
        colour = style["color"]
        axes.vlines(place, max(p["0"], 1), p["100"], color=colour, linewidth=1)
        axes.vlines(place, max(p["25"], 1), max(p["75"], p["25"] + 1), color=colour, linewidth=8, alpha=0.5)
        axes.plot(place, row["average"], marker="_", markersize=14, color="black")
        axes.plot(place, p["99.9"], marker="x", markersize=5, color=colour)
    axes.set_xticks(range(len(rows)), [r["algorithm"] for r in rows], rotation=40, ha="right", fontsize=8)
    axes.text(
        0.02, 0.97, "line: least to most; box: quartiles\n–: average; ×: 99.9 %", transform=axes.transAxes,
        va="top", fontsize=8,
    )  # fmt: skip


def _spikes(axes: Axes, measured: Mapping[str, Any]) -> None:
    _plain(axes, "Spikes, max (Fig. 28)", "slide", "ns")
    axes.set_yscale("log")
    for row in measured["latency"]:
        if row["op"] == "max" and row["algorithm"] in (
            "two_stacks",
            "daba",
            "flat_fit",
            "slick_deque_non_inv",
        ):
            style = STYLES[row["algorithm"]]
            values = [max(v, 10) for v in row["in_a_row"]]
            axes.plot(values, color=style["color"], linewidth=0.7, alpha=0.8)


def _memory(axes: Axes, rows: list[Mapping[str, Any]]) -> None:
    _plain(axes, "Memory (Figs. 19, 29)", "window [partials]", "records held, in windows")
    axes.set_xscale("log", base=2)
    for label, height in TABLE_4.items():
        axes.axhline(height, color="#555555", linewidth=0.8, linestyle="--")
        axes.text(
            0.98, height, f"{label} of Table 4", transform=axes.get_yaxis_transform(), fontsize=8,
            va="bottom", ha="right",
        )  # fmt: skip
    for name, style in STYLES.items():
        own = sorted((r["window"], r["records_an_entry"]) for r in rows if r["algorithm"] == name)
        if own:
            axes.plot(*zip(*dict(own).items(), strict=True), label=name, markersize=4, **style)
