"""How far is a sliding window over an array from a plain copy, and from other libraries and algorithms?

Floats at random, an answer a value, the window growing from one value to half of them; max, which cannot be
subtracted, and sum. `_final_peers.py` says who answers. Windrow and the copy write to the same array,
which they have written to before. Everybody runs equally often, in turns. The fastest run counts: what else
happens on the machine can only slow down something as short as this; medians are in the report beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _final_algorithms
import numpy as np
from _final_algorithms import excess, measure
from _final_algorithms_figure import draw_algorithms
from _final_figure import draw
from _final_peers import (
    MEMCPY,
    OPS,
    WINDROW,
    compare,
    extra_megabytes,
    ours,
    peers,
    versions,
)
from _harness import Bar, Timing, alternate, console, is_quick, machine, publish

SHORTEST = 16
"""The bars hold from here on: with shorter windows there is less to save."""


@dataclass(frozen=True)
class Settings:
    """What is run."""

    values: int
    windows: tuple[int, ...]
    peer_windows: tuple[int, ...]
    repeats: int
    sizes: _final_algorithms.Sizes


FULL = Settings(
    1 << 25,
    tuple(1 << power for power in range(25)),
    tuple(1 << power for power in range(0, 25, 4)),
    5,
    _final_algorithms.FULL,
)
QUICK = Settings(1 << 20, (1, 16, 1 << 10, 1 << 19), (16, 1 << 10), 5, _final_algorithms.QUICK)


class Final:
    """One run of the benchmark: measures and judges."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.measurements: list[dict[str, Any]] = []
        self.comparisons: list[dict[str, Any]] = []
        self.algorithms: dict[str, Any] = {}

    def run(self) -> dict[str, Any]:
        """Measure everything; the report."""
        facts = machine() | versions()
        rng = np.random.default_rng(17)
        values = rng.normal(size=self.settings.values)
        out = np.ones(self.settings.values)  # zeros would get their memory only when written to
        longest = self.settings.windows[-1]
        extra = extra_megabytes(values, out, longest)
        for op in OPS:
            for window in self.settings.windows:
                self._measure(op, window, values, out)
        console.print("the final aggregators, one by one")
        self.algorithms = measure(self.settings.sizes, console.print)
        return {
            "machine": facts,
            "values": self.settings.values,
            "repeats": self.settings.repeats,
            "extra_memory_mb": {"window": longest, "mb": round(extra, 1)},
            "measurements": self.measurements,
            "answers_compared": self.comparisons,
            "algorithms": self.algorithms,
            "bars": [bar.row() for bar in self._bars(extra)],
        }

    # measuring

    def _measure(self, op: str, window: int, values: np.ndarray, out: np.ndarray) -> None:
        runs = ours(values, out, op, window)
        alternate(runs, 1)  # warms up; the peers are by their comparison
        if window in self.settings.peer_windows:
            runs |= peers(values, op, window)
            few = values[: min(len(values), 1 << 20)]
            same = compare(few, op, min(window, len(few)))
            self.comparisons.append({"op": op, "window": window, **same})
        for way, timing in alternate(runs, self.settings.repeats).items():
            self._record(op, window, way, timing)
        copy = self._fastest(MEMCPY, op, window) or 1.0
        took = {way: self._fastest(way, op, window) for way in runs}
        listed = ", ".join(f"{way} {s / copy:.1f}" for way, s in took.items() if s is not None)
        console.print(f"{op}, window {window:,}, in copies: {listed}")

    def _record(self, op: str, window: int, way: str, timing: Timing) -> None:
        self.measurements.append(
            {
                "op": op,
                "window": window,
                "way": way,
                "seconds": [round(s, 5) for s in timing.seconds],
                "fastest": min(timing.seconds),
                "median": timing.median,
                "nanoseconds_a_value": round(min(timing.seconds) / self.settings.values * 1e9, 3),
                "spread": round(timing.spread, 3),
            }
        )

    # judging

    def _bars(self, extra: float) -> Iterator[Bar]:
        windows = [window for window in self.settings.windows if window >= SHORTEST]
        for op in OPS:
            worst = max(self._ratios(WINDROW, MEMCPY, op, windows), default=None)
            yield Bar(f"Windrow / memcpy, {op}, the worst window from {SHORTEST}", worst, 3.5, at_most=True)
            times = [self._fastest(WINDROW, op, window) or 0.0 for window in windows]
            grown = max(times) / min(times)
            yield Bar(f"Windrow, {op}, the worst window / the best", grown, 2.0, at_most=True)
        for peer, bound in (("bottleneck", 4.0), ("polars", 8.0)):
            least = min(self._ratios(peer, WINDROW, "max", windows), default=None)
            yield Bar(f"{peer} / Windrow, max, the least window", least, bound, at_most=False)
        part = extra * 1e6 / (8 * self.settings.values)
        yield Bar("extra memory of the longest window / memory of the values", part, 0.05, at_most=True)
        worst = excess(self.algorithms)
        yield Bar("memory of any algorithm / Table 4's space, windows of 2^k", worst, 1.0, at_most=True)

    def _ratios(self, above: str, below: str, op: str, windows: list[int]) -> list[float]:
        pairs = [(self._fastest(above, op, window), self._fastest(below, op, window)) for window in windows]
        return [a / b for a, b in pairs if a is not None and b is not None]

    def _fastest(self, way: str, op: str, window: int) -> float | None:
        sought: Mapping[str, Any] = {"way": way, "op": op, "window": window}
        found = (m["fastest"] for m in self.measurements if sought.items() <= m.items())
        return next(found, None)


def draw_both(report: Mapping[str, Any], path: Path) -> None:
    """The comparison with the peers, and beside it the algorithms."""
    draw(report, path)
    draw_algorithms(report["algorithms"], path.with_name(path.name.replace("final", "final_algorithms", 1)))


def main() -> int:
    """Run the benchmark; 1 if a bar of a full run is not kept."""
    quick = is_quick((__doc__ or "").partition("\n")[0])
    kept = publish("final", Final(QUICK if quick else FULL).run(), draw_both, quick=quick)
    return 0 if kept or quick else 1


if __name__ == "__main__":
    sys.exit(main())
