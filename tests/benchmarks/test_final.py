"""The benchmark `final` at a tiny size: it runs, compares answers, and reports what the docs need."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def final() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    for peer in ("bottleneck", "numbagg", "polars"):
        pytest.importorskip(peer)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("final")


@pytest.fixture(scope="module")
def report(final: ModuleType) -> dict[str, Any]:
    sizes = import_module("_final_algorithms").Sizes(
        (1, 16), (1, 8), (256,), (8,), 2_000, 2_000, 1, only=("flat_fit", "flat_fat", "subtract_on_evict")
    )
    return final.Final(final.Settings(2_000, (1, 16, 100), (16,), repeats=2, sizes=sizes)).run()


def test_everybody_gives_the_same_answers(report):
    assert len(report["answers_compared"]) == 2
    for compared in report["answers_compared"]:
        peers = {name: same for name, same in compared.items() if name not in ("op", "window")}
        assert peers
        assert all(peers.values()), compared


def test_every_window_is_measured_and_every_bar_judged(report):
    ours = [m for m in report["measurements"] if m["way"] == "Windrow"]
    assert [(m["op"], m["window"]) for m in ours] == [(op, w) for op in ("max", "sum") for w in (1, 16, 100)]
    assert {m["way"] for m in report["measurements"]} >= {
        "memcpy",
        "bottleneck",
        "polars",
        "pandas",
        "numbagg",
    }
    assert all(bar["value"] is not None for bar in report["bars"])


def test_the_report_can_be_written_and_drawn(final, report, tmp_path):
    import_module("_harness").publish("final", report, final.draw_both, quick=True, directory=tmp_path)
    assert json.loads((tmp_path / "final.quick.json").read_text())["bars"] == report["bars"]
    for name in ("final.quick.png", "final_algorithms.quick.png"):
        assert (tmp_path / name).stat().st_size > 10_000


def test_the_algorithms_are_measured_in_every_way(report):
    measured = report["algorithms"]
    assert {row["algorithm"] for row in measured["single"]} == {"flat_fit", "flat_fat", "subtract_on_evict"}
    assert {row["algorithm"] for row in measured["all_ranges"]} == {"flat_fit", "flat_fat"}
    by_algorithm = {row["algorithm"]: row for row in measured["operations"]}
    assert (by_algorithm["subtract_on_evict"]["average"], by_algorithm["subtract_on_evict"]["worst"]) == (
        2,
        2,
    )
    assert (by_algorithm["flat_fat"]["average"], by_algorithm["flat_fat"]["worst"]) == (3, 3)  # log2 of 8
    for row in measured["latency"]:
        assert row["percentiles"]["0"] <= row["percentiles"]["50"] <= row["percentiles"]["100"]
