"""Benchmarks cut down to Windrow's own part, at sizes of a minute, for trees that are compared.

A function a benchmark: it is given the module, of whichever tree, a scratch directory and the turns that it
takes with the other tree, and returns the report. What is not measured is left out or stands as nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from _session import session
from _side_by_side_turns import Turns

EPOCHS_BEFORE, EPOCHS = 8, 20
"""Of 100,000 rows each: while the JVM learns, and measured."""


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

    By the constants that are shipped: by those measured in each run, plans might differ. Each part is the
    shortest of all runs of as many queries: what else the machine does only adds to it.
    """
    runs: dict[int, list[Any]] = {}
    measure = module.ManyQueries._measure

    def measure_and_keep(benchmark: Any, data: Path, statements: Sequence[str], *more: Any) -> Any:
        run = measure(benchmark, data, statements, *more)
        runs.setdefault(len(statements), []).append(run)
        return run

    module.ManyQueries._measure = measure_and_keep
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
        repeats=2,
        class_queries=200,
        classes=(10, 10),
        sampled=1,
        estimated=(),
    )
    report: dict[str, Any] = module.ManyQueries(session(), settings, scratch).run()
    report["classes"]["together"]["queries"] = report["classes"]["queries"]
    for told in (*report["measurements"], report["classes"]["together"]):
        for part in ("epochs", "writing", "registering", "whole"):
            told[part] = min(getattr(run, part) for run in runs[told["queries"]])
    return report


def recovery(module: ModuleType, scratch: Path, turns: Turns) -> dict[str, Any]:
    """Restarts with windows of a minute and of an hour, and epochs; without Spark's own starts."""
    turns.between(module.Recovery, "_child")
    module.Recovery._measure_commits = lambda *_: [_epochs_in_turns(scratch, turns)]
    module.bars = lambda *_: ()
    settings = replace(
        module.QUICK,
        keys=1_000,
        windows=(module.Window(60, 1), module.Window(3_600, 1)),
        ages=(100,),
        steady=4,
        files_seen=(),
    )
    nothing = {"session": 1.0, "first": 1.0, "log_bytes": 0}
    module.Recovery._start_spark = lambda *_, **__: nothing
    report: dict[str, Any] = module.Recovery(settings, scratch).run()
    return report


def _epochs_in_turns(scratch: Path, turns: Turns) -> dict[str, Any]:
    """Epochs of 100,000 rows as `recovery` has them, but in one process, with a turn an epoch."""
    from _recovery_homes import QUERY, SCHEMA, STREAM, Window, write_batches

    from windrow import Engine

    source = scratch / "epochs" / "input"
    write_batches(source, EPOCHS_BEFORE + EPOCHS, seconds=10, keys=1_000)
    epochs: list[tuple[float, float]] = []

    def note(report: Any) -> None:
        epochs.append((report.seconds, report.commit_seconds))
        turns.give()
        turns.take()

    with Engine(scratch / "epochs" / "home", session()) as engine:
        engine.stream(STREAM, source, timestamp="ts", schema=SCHEMA, options={"maxFilesPerTrigger": "1"})
        parts = "SUM(v) AS total, MAX(v) AS highest, AVG(v) AS mean, COUNT(v) AS readings"
        engine.query(QUERY, Window(300, 1).sql(parts))
        engine.on_epoch = note
        engine.run(seal=False)
    seconds, commits = zip(*epochs[EPOCHS_BEFORE:], strict=True)
    return {
        "rows": 100_000,
        "seconds": statistics.median(seconds),
        "commit_seconds": statistics.median(commits),
    }


def nodes(module: ModuleType, scratch: Path, turns: Turns) -> dict[str, Any]:
    """1,000 grouped queries, six epochs of each way; one placement, because there has to be one."""
    turns.between(module.Nodes, "_note")
    module.PLACEMENTS = tuple(module.PLACEMENTS)[:1]
    settings = replace(module.QUICK, rows=100_000, batches=11, groups=100, queries=(1_000,), placed=10)
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
