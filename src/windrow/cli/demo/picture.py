"""The picture at the end: how late flights left over the year, as the demo's own answers tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.dates import DateFormatter, MonthLocator
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

TITLE = "Flights leaving New York: rolling mean delay over 7 days (bold) and 24 hours (faint)"
AIRPORTS = {"EWR": "Newark (EWR)", "JFK": "Kennedy (JFK)", "LGA": "LaGuardia (LGA)"}
COLOURS = {"EWR": "#0072b2", "JFK": "#d55e00", "LGA": "#009e73"}  # told apart by the colour-blind too
ENOUGH = 50
"""Flights in a window of 24 hours before its mean may be called the worst of the year."""


def draw(path: Path, week: pd.DataFrame, day: pd.DataFrame) -> None:
    """Draw the answers of delays_7d (bold) and delays_24h (faint) to a PNG file."""
    figure = Figure(figsize=(11, 5.5), dpi=150, layout="constrained")
    axes = figure.subplots()
    first, last = week["window_start"].min() + week_long(week), week["window_end"].max() - week_long(week)
    for origin, colour in COLOURS.items():
        for answers, width, strength, label in ((day, 0.7, 0.22, None), (week, 2.2, 1.0, AIRPORTS[origin])):
            rows = answers[(answers["origin"] == origin) & answers["window_end"].between(first, last)]
            rows = rows.sort_values("window_end")
            axes.plot(rows["window_end"], rows["mean"], color=colour, lw=width, alpha=strength, label=label)
    _point_out_worst(axes, day[day["window_end"].between(first, last) & (day["flights"] >= ENOUGH)])
    axes.axhline(0, color="0.6", lw=0.8)
    axes.set_xlim(first, last)
    axes.set_ylabel("mean departure delay, minutes")
    axes.set_xlabel("end of the window, 2013")
    axes.xaxis.set_major_locator(MonthLocator())  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_formatter(DateFormatter("%b"))  # type: ignore[no-untyped-call]
    axes.grid(axis="y", color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(TITLE, loc="left")
    axes.legend(frameon=False, loc="upper right")
    figure.savefig(path)


def week_long(week: pd.DataFrame) -> pd.Timedelta:
    """The range of the windows; before the first and after the last of it, windows are half empty."""
    return (week["window_end"] - week["window_start"]).iloc[0]


def _point_out_worst(axes: Axes, day: pd.DataFrame) -> None:
    if day.empty:
        return
    worst = day.loc[day["mean"].idxmax()]
    axes.annotate(
        f"worst 24 hours: {worst['origin']}, until {worst['window_end']:%d %b %H:%M},\n"
        f"{worst['mean']:.0f} minutes on average ({worst['flights']:,} flights scheduled)",
        xy=(worst["window_end"], worst["mean"]),
        xytext=(20, 4),
        textcoords="offset points",
        va="top",
        fontsize=9,
        arrowprops={"arrowstyle": "-", "color": "0.4"},
    )
