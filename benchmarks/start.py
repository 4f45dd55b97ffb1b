"""What does a start cost in a home with many queries?

A start is a new process that opens an engine on a home, runs it with nothing new to read, and ends. Homes
with ten to ten thousand queries over one stream, in twelve classes (`_start_child.py` says which), have
processed its files before. The clock runs from the start of the process to its end. Beside them starts
Spark as it comes: a process with a session and one streaming query over the same files, whose checkpoint
has seen them all. Windrow's sessions start from archived classes (`windrow warm`) and that one does
not, so what says something of the queries is how Windrow's own starts grow.

All processes take turns, and none begins before Java of the last one has gone. A start reads the home as
the last one left it; an unmeasured one comes first. In the end a file comes, and every query has to answer.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from _harness import Bar, Timing, alternate, console, is_quick, publish
from _start_child import write_file
from _start_figure import draw

CHILD = Path(__file__).with_name("_start_child.py")
PLAIN = "Spark's own start"
BOUND = 1.5


@dataclass(frozen=True)
class Settings:
    """What is run."""

    counts: tuple[int, ...]
    """Queries of each home, fewest first."""
    starts: int
    """Of each home."""
    rows: int
    """Of a file."""
    files: int = 3


FULL = Settings((10, 100, 1_000, 10_000), starts=7, rows=20_000)
QUICK = Settings((10, 1_000), starts=2, rows=2_000)


class WrongAnswer(Exception):
    """A start did not do what a start has to do; no timing of it means anything."""


class Start:
    """One run of the benchmark, in one scratch directory."""

    def __init__(self, settings: Settings, scratch: Path) -> None:
        self.settings = settings
        self.scratch = scratch
        self._noted: dict[str, list[dict[str, Any]]] = {}
        """What the processes noted, by what they started."""

    def run(self) -> dict[str, Any]:
        """Measure; the report."""
        begun = time.perf_counter()
        prepared, _ = self._process(
            "prepare",
            counts=self.settings.counts,
            files=self.settings.files,
            rows=self.settings.rows,
            directory=str(self.scratch),
        )
        os.sync()  # or the first process that is measured would wait for these bytes
        console.print(f"{len(self.settings.counts)} homes made in {time.perf_counter() - begun:.0f} s")
        starts = {PLAIN: partial(self._start, PLAIN, "plain", checkpoint=str(self.scratch / "checkpoint"))}
        for count in self.settings.counts:
            starts[_name(count)] = partial(self._start, _name(count), "windrow", home=str(self._home(count)))
        for start in starts.values():
            start(epochs=None)  # the peer's first one reads the files
        self._noted.clear()
        timings = alternate(starts, self.settings.starts)
        self._go_on()
        plain = self._summary(PLAIN, timings[PLAIN])
        found = [
            {"queries": count}
            | prepared["homes"][str(count)]
            | self._summary(_name(count), timings[_name(count)])
            for count in self.settings.counts
        ]
        return {
            "question": (__doc__ or "").partition("\n")[0],
            "machine": prepared["machine"],
            "settings": asdict(self.settings),
            "spark_start": plain,
            "starts": found,
            "bars": [bar.row() for bar in bars(found)],
        }

    def _home(self, count: int) -> Path:
        return self.scratch / f"home-{count}"

    def _start(self, name: str, task: str, epochs: int | None = 0, **arguments: str) -> float:
        noted, seconds = self._process(task, source=str(self.scratch / "input"), **arguments)
        if epochs is not None and noted["epochs"] != epochs:
            raise WrongAnswer(f"{name}: {noted['epochs']} epochs instead of {epochs}")
        self._noted.setdefault(name, []).append(noted)
        console.print(f"{name}: {seconds:.2f} s")
        return seconds

    def _go_on(self) -> None:
        """Every query of every home is there after all these starts, and answers."""
        write_file(self.scratch / "input", self.settings.files, self.settings.rows)
        for count in self.settings.counts:
            noted, _ = self._process("windrow", source="", home=str(self._home(count)))
            if noted["answered"] != count:
                raise WrongAnswer(f"{noted['answered']:,} of {count:,} queries went on after the starts")

    def _process(self, task: str, **arguments: Any) -> tuple[dict[str, Any], float]:
        """What a process noted, and its seconds."""
        outcome = self.scratch / "outcome.json"
        arguments["since"] = time.time()
        command = [sys.executable, str(CHILD), task, json.dumps(arguments), str(outcome)]
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said: list[str] = []
        listening = Thread(target=lambda: said.extend(process.stdout or ()))
        listening.start()
        failed = process.wait()
        seconds = time.perf_counter() - begun
        listening.join()  # Java has the other end too: it is gone when there is nothing more to be heard
        if failed:
            raise RuntimeError(f"{task} failed:\n{''.join(said)}")
        noted: dict[str, Any] = json.loads(outcome.read_text(encoding="utf-8"))
        return noted, seconds

    def _summary(self, name: str, timing: Timing) -> dict[str, Any]:
        phases = [
            phases_of(noted["instants"], seconds)
            for noted, seconds in zip(self._noted[name], timing.seconds, strict=True)
        ]
        return {
            "seconds": [round(seconds, 3) for seconds in timing.seconds],
            "median": round(timing.median, 3),
            "spread": round(timing.spread, 3),
            "phases": {
                phase: round(statistics.median(start[phase] for start in phases), 3) for phase in phases[0]
            },
        }


def phases_of(at: dict[str, float], end: float) -> dict[str, float]:
    """Where the seconds of a start went, from the instants that it noted.

    >>> at = {"imported": 1.0, "session asked for": 1.25, "session": 4.0, "reading": 5.0, "read": 5.5}
    >>> phases_of(at, 6.0)
    {'imports': 1.0, 'Spark session': 2.75, 'home and queries': 1.25, 'reading nothing': 0.5, 'ending': 0.5}
    """
    session = at["session"] - at["session asked for"]
    return {
        "imports": at["imported"],
        "Spark session": session,
        "home and queries": at["reading"] - at["imported"] - session,
        "reading nothing": at["read"] - at["reading"],
        "ending": end - at["read"],
    }


def bars(starts: list[dict[str, Any]]) -> Iterator[Bar]:
    """What is promised of the measured values."""
    fewest, most = starts[0], starts[-1]
    name = f"a start with {most['queries']:,} queries / with {fewest['queries']:,}"
    yield Bar(name, most["median"] / fewest["median"], BOUND, at_most=True)


def _name(count: int) -> str:
    return f"{count:,} queries"


def main() -> int:
    """Run the benchmark; 1 if a bar of a full run is not kept."""
    quick = is_quick((__doc__ or "").partition("\n")[0])
    with tempfile.TemporaryDirectory(prefix="windrow-start-") as scratch:
        report = Start(QUICK if quick else FULL, Path(scratch)).run()
    kept = publish("start", report, draw, quick=quick)
    return 0 if kept or quick else 1


if __name__ == "__main__":
    sys.exit(main())
