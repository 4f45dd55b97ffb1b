"""Benchmarks cut down to Windrow's own part, at sizes of a minute, for trees that are compared.

A function a benchmark: it is given the module, of whichever tree, a scratch directory and the turns that it
takes with the other tree, and returns the report. What is not measured is left out or stands as nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from _session import session
from _side_by_side_turns import Turns


def overlap(module: ModuleType, scratch: Path, turns: Turns) -> dict[str, Any]:
    """2 M rows in two batches; the floor stays, as a measure of noise."""
    turns.between(module.Overlap, "_timed")
    window, size = module.Window, module.Size
    settings = replace(
        module.QUICK,
        sizes={
            module.COMPARABLE: size(keys=5, seconds=60, files=2),
            module.LARGE: size(keys=1_000, seconds=200, files=2),
        },
        windows=(window(1, 1), window(300, 1), window(300, 10)),
        repeats=5,
    )
    run = module.Overlap(session(), settings, scratch)
    run._too_much = {module.BATCH: 0, module.STREAMING: 0}  # no overlap is attempted
    report: dict[str, Any] = run.run()
    large = [m for m in report["measurements"] if m["size"] == module.LARGE]
    return report | {"measurements": large}


def many_queries(module: ModuleType, scratch: Path, turns: Turns) -> dict[str, Any]:
    """One, a thousand and ten thousand queries over 2 M rows, and 200 in 100 classes, as Windrow plans them.

    By the constants that are shipped: by those measured in each run, plans might differ.
    """
    turns.between(module.ManyQueries, "_measure")
    module.WAYS = (module.PLANNED,)
    measuring = getattr(module, "measure_sharing", None) or module.calibrate  # as it was called before
    measuring.measure_constants = lambda *_: {}
    module.ManyQueries._native = lambda *_: {}
    settings = replace(
        module.QUICK,
        rows=2_000_000,
        files=4,
        counts=(1, 1_000, 10_000),
        repeats=3,
        class_queries=200,
        classes=(10, 10),
        sampled=1,
        estimated=(),
    )
    report: dict[str, Any] = module.ManyQueries(session(), settings, scratch).run()
    return report


def recovery(module: ModuleType, scratch: Path, turns: Turns) -> dict[str, Any]:
    """Restarts with windows of a minute and of an hour, and commits; without Spark's own starts."""
    turns.between(module.Recovery, "_child")
    settings = replace(
        module.QUICK,
        keys=1_000,
        windows=(module.Window(60, 1), module.Window(3_600, 1)),
        ages=(100,),
        steady=4,
        files_seen=(),
        commit_rows=(100_000,),
        commit_epochs=12,
    )
    nothing = {"session": 1.0, "first": 1.0, "log_bytes": 0}
    module.Recovery._start_spark = lambda *_, **__: nothing
    report: dict[str, Any] = module.Recovery(settings, scratch).run()
    return report


def nodes(module: ModuleType, scratch: Path, turns: Turns) -> dict[str, Any]:
    """1,000 grouped queries, eleven epochs of each way; one placement, because there has to be one.

    Of six epochs, one way was told 1.08 that by twenty is 0.97.
    """
    turns.between(module.Nodes, "_epochs")
    module.PLACEMENTS = tuple(module.PLACEMENTS)[:1]
    settings = replace(module.QUICK, rows=100_000, batches=16, groups=100, queries=(1_000,), placed=10)
    report: dict[str, Any] = module.Nodes(session(), settings, scratch).run()
    return report


def start(module: ModuleType, scratch: Path, turns: Turns) -> dict[str, Any]:
    """Ten and ten thousand queries, each started once."""
    turns.between(module.Start, "_process")
    settings = replace(module.QUICK, counts=(10, 10_000), starts=1)
    report: dict[str, Any] = module.Start(settings, scratch).run()
    return report


TRIMMED: Mapping[str, Callable[[ModuleType, Path, Turns], dict[str, Any]]] = {
    "overlap": overlap,
    "many_queries": many_queries,
    "recovery": recovery,
    "nodes": nodes,
    "start": start,
}
