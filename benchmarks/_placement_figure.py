"""The figure of `placement`: Figure 40 of Shein 2019, and Table 9 under it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

COLORS = {"g": "#c9b458", "w": "#8fbbe0", "wg": "#1f6fb4"}
PAPER = {  # Table 9: best in, and above the best where it is not
    ("maximum", "wg_i"): (80, 3),
    ("maximum", "wg_tn"): (17, 48),
    ("total", "wg_i"): (5, 9),
    ("total", "wg_tn"): (90, 0.2),
}


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    figure, panels = plt.subplots(
        2, 2, figsize=(12, 8.4), height_ratios=(3, 1), layout="constrained", sharey="row"
    )
    judged = report["alone"]
    for column, (measure, title) in enumerate((("maximum", "(a) maximum cost"), ("total", "(b) total cost"))):
        _bars(panels[0, column], judged[measure])
        panels[0, column].set_title(title, fontsize=11)
        _wins(panels[1, column], measure, report)
    panels[0, 0].set_ylabel("0 %: average best, 100 %: average worst")
    figure.suptitle(
        f"Thirteen ways to place queries on nodes, {report['settings']} settings of Table 8",
        fontsize=13,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _bars(axes: Axes, judged: Mapping[str, Any]) -> None:
    names = list(judged)
    axes.bar(
        range(len(names)),
        [judged[name]["quality"] for name in names],
        yerr=[judged[name]["deviation"] for name in names],
        color=[COLORS[name.partition("_")[0]] for name in names],
        error_kw={"elinewidth": 1, "capsize": 3, "ecolor": "#555555"},
    )
    axes.set_xticks(range(len(names)), [name.upper() for name in names], rotation=45, ha="right", fontsize=9)
    axes.yaxis.set_major_formatter("{x:g} %")
    axes.grid(True, axis="y", color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _wins(axes: Axes, measure: str, report: Mapping[str, Any]) -> None:
    axes.axis("off")
    rows = []
    for name in ("wg_i", "wg_tn"):
        cells = [name.upper()]
        for way in ("alone", "together"):
            found = report[way][measure][name]
            cells.append(f"{found['best_in']:.0f} %, else +{found['above_the_best_where_not']:.0f} %")
        best, above = PAPER[measure, name]
        rows.append([*cells, f"{best} %, else +{above} %"])
    table = axes.table(
        rows,
        colLabels=["best in", "queries one by one", "equal slides first", "paper, Table 9"],
        loc="center",
        cellLoc="center",
        colWidths=[0.13, 0.29, 0.29, 0.29],
    )
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    table.scale(1, 1.5)
