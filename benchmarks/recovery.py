"""How long from a restart to the first new answer, and what does the commit protocol cost an epoch?

Recovery: homes with windows of different sizes and homes of different ages (`_recovery_homes.py` says how
they are made) are opened, each by a new process, over a file that has come meanwhile. The clock runs
from the start of the process to the first answers committed. Spark's own start is a process with Spark
as it comes and the same settings whose streaming query, over the same files and a checkpoint of its own,
does nothing but count its first batch. A restart may take that and two epochs as they are once the engine
runs. Windrow's sessions start from archived classes (`windrow warm`), which is most of how they keep
this; what the same archive does for Spark's own start is measured beside it, and the ratio to that is in
the report, without a bar. So is Spark as it comes aggregating its first batch as Windrow's pass does.

Spark's own log: the floor again, with checkpoints that have seen more and more files. The files themselves
are gone, so that this is the log alone, not the listing of a directory.

Commit: the part of an epoch that is not work on rows, by the steps of the protocol (docs/commit.md).

All processes take turns. Numba's kernels are compiled once and kept on disk; an unmeasured restart
makes sure of that. The files are in the page cache for everybody: this is a restart of the process, not
of the machine.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from _harness import Timing, alternate, console, is_quick, publish
from _recovery_bars import bars, commit_summary, over_start
from _recovery_figure import draw
from _recovery_homes import (
    PER_SECOND,
    History,
    Window,
    log_size,
    move_checkpoint_on,
    write_batches,
)

from windrow.api.warm import archive_path, warm_start

CHILD = Path(__file__).with_name("_recovery_child.py")
PLAIN = "Spark's own start"
AGGREGATED = f"{PLAIN}, first batch aggregated"
ARCHIVED = f"{PLAIN}, classes archived"


@dataclass(frozen=True)
class Settings:
    """What is run."""

    keys: int
    windows: tuple[Window, ...]
    windows_epochs: int
    """The age of the homes whose windows differ."""
    ages: tuple[int, ...]
    ages_window: Window
    batch_seconds: int
    """Of event time, in a file that comes after the restart."""
    steady: int
    """Epochs after the first one."""
    rounds: int
    files_seen: tuple[int, ...]
    """By Spark's checkpoint; multiples of ten, which is when Spark compacts its log."""
    commit_rows: tuple[int, ...]
    commit_epochs: int
    commit_warm_up: int

    @property
    def batch_rows(self) -> int:
        return self.keys * PER_SECOND * self.batch_seconds

    @property
    def histories(self) -> list[History]:
        """The homes, each once."""
        by_window = [History(window, self.windows_epochs, self.keys) for window in self.windows]
        by_age = [History(self.ages_window, age, self.keys) for age in self.ages]
        return list(dict.fromkeys([*by_window, *by_age]))


FULL = Settings(
    keys=1_000,
    windows=(Window(60, 1), Window(3_600, 1), Window(86_400, 10)),
    windows_epochs=1_000,
    ages=(10, 100, 1_000, 10_000),
    ages_window=Window(3_600, 1),
    batch_seconds=100,
    steady=5,
    rounds=3,
    files_seen=(10, 1_000, 10_000),
    commit_rows=(10_000, 100_000, 1_000_000),
    commit_epochs=12,
    commit_warm_up=4,
)
QUICK = Settings(
    keys=100,
    windows=(Window(60, 1), Window(3_600, 1)),
    windows_epochs=100,
    ages=(10, 100),
    ages_window=Window(3_600, 1),
    batch_seconds=100,
    steady=2,
    rounds=1,
    files_seen=(1_000,),
    commit_rows=(1_000, 100_000),
    commit_epochs=4,
    commit_warm_up=2,
)


class WrongAnswer(Exception):
    """An engine did not go on from where its home was; no timing of it means anything."""


class Recovery:
    """One run of the benchmark, in one scratch directory."""

    def __init__(self, settings: Settings, scratch: Path) -> None:
        self.settings = settings
        self.scratch = scratch
        self._starts: dict[str, list[dict[str, Any]]] = {}
        """What each process of the rounds noted, by what it started."""

    def run(self, *, warm_up: bool = True) -> dict[str, Any]:
        """Measure everything; the report."""
        if not archive_path().exists():
            warm_start()
        prepared = self._prepare()
        if warm_up:
            self._start_windrow(self.settings.histories[0])
        timings = self._measure_starts()
        commits = self._measure_commits()
        plain, archived = self._plain(PLAIN, timings), self._plain(ARCHIVED, timings)
        recoveries = [
            self._recovery(history, timings[history.name], prepared["homes"][history.name])
            for history in self.settings.histories
        ]
        for recovery in recoveries:
            recovery["over_archived_start"] = round(over_start(recovery, archived), 3)
        logs = [self._log(files, timings[_log_name(files)]) for files in self.settings.files_seen]
        return {
            "machine": prepared["machine"],
            "settings": asdict(self.settings) | {"batch_rows": self.settings.batch_rows},
            "spark_start": plain,
            "spark_start_aggregated": self._plain(AGGREGATED, timings),
            "spark_start_archived": archived,
            "recoveries": recoveries,
            "spark_log": logs,
            "commits": commits,
            "bars": [bar.row() for bar in bars(self.settings, plain, recoveries, commits)],
        }

    # measuring

    def _prepare(self) -> dict[str, Any]:
        begun = time.perf_counter()
        histories = [(h.window.range, h.window.slide, h.epochs, h.keys) for h in self.settings.histories]
        prepared = self._child("prepare", histories=histories, directory=str(self.scratch))
        batches = write_batches(
            self.scratch / "batches",
            1 + self.settings.steady,
            seconds=self.settings.batch_seconds,
            keys=self.settings.keys,
        )
        for history in self.settings.histories:
            for path in batches:
                os.link(path, self.scratch / history.name / "input" / path.name)
        console.print(f"{len(histories)} homes made in {time.perf_counter() - begun:.0f} s")
        return prepared

    def _measure_starts(self) -> dict[str, Timing]:
        starts = {
            PLAIN: partial(self._start_spark, 1),
            AGGREGATED: partial(self._start_spark, 1, aggregate=True),
            ARCHIVED: partial(self._start_spark, 1, archived=True),
        }
        for files in self.settings.files_seen:
            starts[_log_name(files)] = partial(self._start_spark, files)
        for history in self.settings.histories:
            starts[history.name] = partial(self._start_windrow, history)
        runs = {name: partial(self._timed, name, start) for name, start in starts.items()}
        return alternate(runs, self.settings.rounds)

    def _timed(self, name: str, start: Callable[[], dict[str, Any]]) -> float:
        noted = start()
        self._starts.setdefault(name, []).append(noted)
        console.print(f"{name}: {noted['first']:.2f} s")
        return float(noted["first"])

    def _start_spark(self, files: int, *, aggregate: bool = False, archived: bool = False) -> dict[str, Any]:
        """Spark's own start, with a checkpoint that has seen one file or several."""
        made = self.scratch / self.settings.histories[0].name
        with self._copied(made / "checkpoint") as checkpoint:
            if files > 1:
                move_checkpoint_on(checkpoint, batches=files, files=files)
            size = log_size(checkpoint)
            noted = self._child(
                "plain",
                source=str(made / "input"),
                checkpoint=str(checkpoint),
                aggregate=aggregate,
                archived=archived,
            )
        if noted["batches"] != 1 + self.settings.steady:
            raise WrongAnswer(f"Spark had {noted['batches']} batches instead of {1 + self.settings.steady}")
        return noted | {"log_bytes": size}

    def _start_windrow(self, history: History) -> dict[str, Any]:
        with self._copied(self.scratch / history.name / "home") as home:
            noted = self._child("windrow", home=str(home))
        expected = [history.keys * self.settings.batch_seconds // history.window.slide]
        expected *= 1 + self.settings.steady
        if noted["answers"] != expected:
            raise WrongAnswer(f"{history.label}: {noted['answers']} answers instead of {expected}")
        return noted

    def _measure_commits(self) -> list[dict[str, Any]]:
        count = self.settings.commit_warm_up + self.settings.commit_epochs
        cases: dict[str, list[Any]] = {}
        for rows in self.settings.commit_rows:
            directory = self.scratch / f"commit-{rows}"
            seconds = rows // (self.settings.keys * PER_SECOND)
            write_batches(directory / "input", count, seconds=seconds, keys=self.settings.keys)
            cases[str(rows)] = [
                str(directory / "input"), str(directory / "home"), self.settings.commit_warm_up
            ]  # fmt: skip
        noted = self._child("commit", cases=cases)
        return [commit_summary(rows, noted[str(rows)]) for rows in self.settings.commit_rows]

    def _child(self, task: str, **arguments: Any) -> dict[str, Any]:
        outcome = self.scratch / "outcome.json"
        arguments["since"] = time.time()
        command = [sys.executable, str(CHILD), task, json.dumps(arguments), str(outcome)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{task} failed:\n{done.stdout}{done.stderr}")
        found: dict[str, Any] = json.loads(outcome.read_text(encoding="utf-8"))
        return found

    @contextmanager
    def _copied(self, directory: Path) -> Iterator[Path]:
        """A copy, so that every start finds the same."""
        copy = Path(tempfile.mkdtemp(dir=self.scratch)) / directory.name
        shutil.copytree(directory, copy)
        os.sync()  # or the process that is measured would wait for these bytes at its first fsync
        try:
            yield copy
        finally:
            shutil.rmtree(copy.parent, ignore_errors=True)

    # reporting

    def _plain(self, name: str, timings: Mapping[str, Timing]) -> dict[str, Any]:
        session = statistics.median(noted["session"] for noted in self._starts[name])
        return {"session": round(session, 3), **_timing(timings[name])}

    def _log(self, files: int, timing: Timing) -> dict[str, Any]:
        noted = self._starts[_log_name(files)][0]
        return {"files": files, "log_bytes": noted["log_bytes"], **_timing(timing)}

    def _recovery(self, history: History, timing: Timing, facts: Mapping[str, Any]) -> dict[str, Any]:
        noted = self._starts[history.name]
        steady = [seconds for start in noted for seconds in start["steady"]]
        steps = {
            step: round(statistics.median(start["steps"][step] for start in noted), 3)
            for step in noted[0]["steps"]
        }
        return {
            "range": history.window.range,
            "slide": history.window.slide,
            "label": history.label,
            "epochs": history.epochs,
            "home": dict(facts),
            **_timing(timing),
            "session": round(statistics.median(start["session"] for start in noted), 3),
            "steps": steps,
            "first_epoch": round(statistics.median(start["first_epoch"] for start in noted), 3),
            "steady": round(statistics.median(steady), 3),
            "steady_spread": round(Timing(tuple(steady)).spread, 3),
        }


def _timing(timing: Timing) -> dict[str, Any]:
    return {
        "seconds": [round(seconds, 3) for seconds in timing.seconds],
        "median": round(timing.median, 3),
        "spread": round(timing.spread, 3),
    }


def _log_name(files: int) -> str:
    return f"{PLAIN}, {files:,} files seen"


def main() -> int:
    """Run the benchmark; 1 if a bar of a full run is not kept."""
    quick = is_quick((__doc__ or "").partition("\n")[0])
    with tempfile.TemporaryDirectory(prefix="windrow-recovery-") as scratch:
        report = Recovery(QUICK if quick else FULL, Path(scratch)).run()
    noise = report["spark_start"]["spread"]
    console.print(f"noise: slowest minus fastest of {PLAIN} is {noise:.0%} of its median")
    kept = publish("recovery", report, draw, quick=quick)
    return 0 if kept or quick else 1


if __name__ == "__main__":
    sys.exit(main())
