"""Plays the story in processes that are killed and started again until it is finished.

A killed process takes its JVM along: both are in a process group of their own, which gets SIGKILL. Before it
ends, a process may be disturbed, which it must survive (`child.py`); after it, its home may be damaged as a
power failure or a careless copy would (`damages.py`).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread

from tests.harness.faults import STEPS
from tests.quick_java import QUICK_JAVA
from tests.soak.child import DISTURBANCES, ENDS
from tests.soak.contents import Contents, contents, differences, undelivered, unsound
from tests.soak.damages import another_moment, cut_short
from tests.soak.scenario import STORY

ROOT = Path(__file__).parents[2]
PATIENCE = 600
"""Seconds after which a process is taken to hang."""


@dataclass(frozen=True)
class Kill:
    """At a step, when it is reached for the n-th time; or so many seconds after Spark is there."""

    step: str | None = None
    number: int = 1
    seconds: float = 0.0
    end: str = "killed"
    """How the process ends at the step: one of the child's ENDS."""
    disturbance: str | None = None
    """What happens to it at its first step: one of the child's DISTURBANCES, which it must survive."""
    damage: str | None = None
    """What happens to its home then: one of DAMAGES."""

    def __str__(self) -> str:
        where = f"after {self.seconds:.2f} s" if self.step is None else f"at '{self.step}':{self.number}"
        more = [what for what in (self.disturbance, self.end, self.damage) if what not in (None, "killed")]
        return ", ".join([where, *more])

    @property
    def kinds(self) -> list[str]:
        """What it is about, for counting."""
        what = [self.step or "a random moment", self.disturbance, self.damage]
        what += [self.end] if self.end != "killed" else []
        return [kind for kind in what if kind is not None]


DAMAGES = ("checkpoint cut short", "checkpoint of another moment")


def random_kills(seed: int) -> Iterator[Kill]:
    """Steps and moments in turn, without end; each with one of the other faults, or none."""
    rng = random.Random(seed)
    disturbances, damages = (None, *DISTURBANCES), (None, *DAMAGES)
    while True:
        for step in rng.sample(STEPS, len(STEPS)):
            yield Kill(
                step,
                rng.choice([1, 1, 2, 3, 5]),
                end=rng.choice(["killed", *ENDS]),
                disturbance=rng.choice(disturbances),
                damage=rng.choice(damages),
            )
            yield Kill(
                seconds=rng.uniform(0, 12), disturbance=rng.choice(disturbances), damage=rng.choice(damages)
            )


class ChildFailed(Exception):
    """A process that ended by itself before the story did."""


class Player:
    """A process that is getting Spark ready, and plays the story as soon as it is told to."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._log = (directory / "log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.child", str(directory)],
            cwd=ROOT,
            env=os.environ | {"JAVA_TOOL_OPTIONS": QUICK_JAVA, "WINDROW_DRIVER_MEMORY": "1g"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )

    def play(self, kill: Kill | None = None) -> bool:
        """Play the story; whether it was finished, and not killed."""
        self._log.write(f"──── kill {kill}\n".encode())
        self._log.flush()
        try:
            lines = _watch(self._process, kill)
        finally:
            self.end()
        if "finished" in lines:
            (self._directory / "readable.json").write_text(_readable(lines), encoding="utf-8")
            return True
        if self._process.returncode != -signal.SIGKILL and not (kill and self._gave_up(kill)):
            tail = "\n".join((self._directory / "log").read_text(errors="replace").splitlines()[-30:])
            raise ChildFailed(
                f"{self._directory}: exit code {self._process.returncode} after {lines}\n{tail}"
            )
        return False

    def _gave_up(self, kill: Kill) -> bool:
        """Whether the process ended with the error that it must end with when it cannot go on."""
        (*_, said) = (self._directory / "log").read_text(errors="replace").rpartition("──── kill")
        return kill.end != "killed" and ENDS[kill.end] in said

    def end(self) -> None:
        """End the process, whatever it is doing."""
        kill_group(self._process.pid)
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._log):
            if file is not None:
                with suppress(BrokenPipeError):  # it may have failed before it was told
                    file.close()


def _readable(lines: list[str]) -> str:
    return next(line.removeprefix("readable ") for line in lines if line.startswith("readable "))


def _watch(process: subprocess.Popen[str], kill: Kill | None) -> list[str]:
    """What the process said until its end, or until it is to be killed."""
    lines: list[str] = []
    ready = Event()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            ready.set()
        ready.set()

    reader = Thread(target=read, daemon=True)
    reader.start()
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # one that has failed by now says so in its log
        process.stdin.write(json.dumps(asdict(kill) if kill else {}) + "\n")
        process.stdin.flush()
    if kill is not None and kill.step is None:
        ready.wait(PATIENCE)
        reader.join(kill.seconds)
        if reader.is_alive():
            kill_group(process.pid)
    reader.join(PATIENCE)
    if reader.is_alive():
        kill_group(process.pid)
        raise ChildFailed(f"no end after {PATIENCE} s: {lines}")
    return lines


def kill_group(group: int) -> None:
    """Kill all processes of a group, and wait until none of them runs."""
    while _runs(group):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.01)


def _runs(group: int) -> bool:
    """Whether a process of the group does anything; one that is dead and not yet waited for does not."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = entry.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state not in "ZX":
            return True
    return False


def play_with_kills(directory: Path, kills: Iterable[Kill]) -> Iterator[Kill]:
    """Play the story to its end, killed again and again; the kills, as they come about.

    While one process plays, the next gets ready: that takes longer than most of them live.
    """
    waiting = Player(directory)
    try:
        for kill in kills:
            player, waiting = waiting, Player(directory)
            if player.play(kill):
                return
            if kill.damage == "checkpoint cut short":
                cut_short(directory / "home")
            if kill.damage == "checkpoint of another moment":
                player, waiting = waiting, Player(directory)
                _see_refused(player, directory / "home")
            yield kill
        waiting.play()
    finally:
        waiting.end()


def _see_refused(player: Player, home: Path) -> None:
    """See that nothing is read while Spark's record is of another moment than the catalog, and put it back."""
    with another_moment(home) as is_another:
        if not is_another:
            player.end()  # nothing has been read yet
            return
        before = contents(home).progress
        try:
            player.play()
        except ChildFailed as error:
            if "are not of one moment" in str(error) and contents(home).progress == before:
                return
            raise
        raise ChildFailed(f"{home}: Spark's record was of another moment, and nobody noticed")


def judge(truth: Contents, directory: Path) -> list[str]:
    """How a story that was interrupted ended differently from the one that was not."""
    home = directory / "home"
    report = unsound(home)
    found = contents(home)
    report += differences(truth, found)
    report += undelivered(directory / "delivered.jsonl", home, STORY.watched)
    readable = directory / "readable.json"
    if readable.exists():
        report += _misread(json.loads(readable.read_text()), found)
    return report


def _misread(counts: dict[str, int], found: Contents) -> list[str]:
    """Where Spark reads another number of rows than there are."""
    report = []
    for name, count in counts.items():
        kind, _, of = name.partition(" ")
        table = f"results of {of}" if kind == "query" else f"{kind} rows of {of}"
        there = found.tables[table].total() if table in found.tables else 0
        if there != count:
            report.append(f"{table}: Spark reads {count} rows, and there are {there}")
    return report
