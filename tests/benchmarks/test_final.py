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
    return final.Final(final.Settings(2_000, (1, 16, 100), (16,), repeats=2)).run()


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
    import_module("_harness").publish("final", report, final.draw, quick=True, directory=tmp_path)
    assert json.loads((tmp_path / "final.quick.json").read_text())["bars"] == report["bars"]
    assert (tmp_path / "final.quick.png").stat().st_size > 10_000
