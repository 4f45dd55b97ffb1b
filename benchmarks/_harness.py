"""What every benchmark shares: bars, repeated timings, facts about the machine, and the report.

A benchmark is one file with `main()`, which measures, makes a report (a dict), draws it and hands it to
`publish`. The full run writes `results/NAME.json` and `results/NAME.png`, which are committed. With
--quick the sizes are small and the bars only informational: it writes `results/NAME.quick.json` and
`.quick.png`, which git ignores, so the committed measurements stay.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS = Path(__file__).parent / "results"
Name = TypeVar("Name", bound=Hashable)

console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


@dataclass(frozen=True)
class Bar:
    """A promise about a measured value; without a value it is not kept."""

    name: str
    value: float | None
    bound: float
    at_most: bool
    """Whether the bound is from above (≤) or from below (≥)."""

    @property
    def ok(self) -> bool:
        if self.value is None:
            return False
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    def row(self) -> dict[str, Any]:
        """As it stands in the JSON."""
        bound = f"{'≤' if self.at_most else '≥'} {self.bound:g}"
        value = None if self.value is None else round(self.value, 3)
        return {"name": self.name, "value": value, "bound": bound, "ok": self.ok}


@dataclass(frozen=True)
class Timing:
    """The seconds of repeated runs of the same thing."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Slowest minus fastest, as a part of the median."""
        return (max(self.seconds) - min(self.seconds)) / self.median


def alternate(runs: Mapping[Name, Callable[[], float]], repeats: int) -> dict[Name, Timing]:
    """Time several things in turns, so that a slow minute of the machine hits them alike.

    A run returns its own seconds: what it prepares and clears away is not part of them. The order is
    reversed every other time, because whoever comes second may find warmer caches.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in runs}
    for turn in range(repeats):
        for name in list(runs)[:: -1 if turn % 2 else 1]:
            seconds[name].append(runs[name]())
    return {name: Timing(tuple(measured)) for name, measured in seconds.items()}


def machine(spark: SparkSession | None = None) -> dict[str, Any]:
    """What a reader needs to know of where the numbers come from."""
    facts: dict[str, Any] = {
        "measured": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load_at_start": round(os.getloadavg()[0], 2),
        "system": platform.system(),
        "python": platform.python_version(),
        "windrow": version("windrow"),
    }
    if spark is not None:
        java = spark.sparkContext._jvm.System.getProperty("java.version")  # type: ignore[union-attr]
        facts |= {"spark": spark.version, "java": java, "master": spark.sparkContext.master}
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def is_quick(description: str) -> bool:
    """Read the command line: whether --quick was asked for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes; bars are informational, committed results are kept"
    )
    return bool(parser.parse_args().quick)


def plain_ticks(axis: Axis) -> None:
    """Labels 1, 2, 5, 10, … on a logarithmic axis of few powers of ten, in place of 2 × 10⁰."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def publish(
    name: str,
    report: Mapping[str, Any],
    draw: Callable[[Mapping[str, Any], Path], None],
    *,
    quick: bool,
    directory: Path = RESULTS,
) -> bool:
    """Write the report and its figure, print the bars; whether all of them are kept."""
    stem = f"{name}.quick" if quick else name
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False)
    (directory / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
    draw(report, directory / f"{stem}.png")
    title = f"{name}, quick: informational only" if quick else name
    table = Table(title=title, title_justify="left")
    table.add_column("bar")
    table.add_column("value", justify="right")
    table.add_column("bound", justify="right")
    table.add_column("ok")
    for bar in report["bars"]:
        value = "not measured" if bar["value"] is None else f"{bar['value']:.2f}"
        table.add_row(bar["name"], value, bar["bound"], "[green]yes" if bar["ok"] else "[red]no")
    console.print(table)
    console.print(f"wrote {stem}.json and {stem}.png to {directory.name}/")
    return all(bar["ok"] for bar in report["bars"])
