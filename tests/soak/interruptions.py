"""Stops an engine at the steps of its protocol by an exception: quicker than a kill, and at exact places."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tests.harness.faults import BEFORE_COMMIT, at_steps
from tests.soak.scenario import SHORT, play

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

from tests.soak.scenario import Story

ROUNDS = (
    # An epoch that is not committed comes again, so one home can be stopped at all these steps of it.
    (*BEFORE_COMMIT, "epoch committed"),
    ("old files removed", "compaction written", "compaction committed"),
    ("answers delivered", "compacted files removed"),
)


class Interrupted(Exception):
    """Thrown in the middle of a step.

    An ordinary exception: one that is not would end the thread in which Spark waits for our answer, and
    Spark would wait for ever.
    """


class Interruptions:
    """Stops the engine at some steps, each as soon as it is reached in a phase, one stop a play.

    After a stop no thread gets past a step any more, as none would in a process that is dead. With `passing`,
    the disk fails for a moment instead, and the engine itself tries again.
    """

    def __init__(self, steps: tuple[str, ...], story: Story = SHORT, *, passing: bool = False) -> None:
        self.steps = steps
        self.story = story
        self.passing = passing
        self.done: list[tuple[int, str]] = []
        self.phase = 0
        self.stopped = False

    def hear(self, line: str) -> None:
        if line.startswith("phase "):
            self.phase = int(line.removeprefix("phase "))

    def reach(self, step: str) -> None:
        if not self.stopped and step in self.steps and (self.phase, step) not in self.done:
            self.done.append((self.phase, step))
            if self.passing:
                raise OSError(5, "Input/output error")
            self.stopped = True
        if self.stopped:
            raise Interrupted(step)

    def play(self, directory: Path, spark: SparkSession, *, same_engine: bool = False) -> None:
        """Play the story to its end: after a stop with a new engine, or with the one there is."""
        usual, threading.excepthook = threading.excepthook, _hush
        try:
            with at_steps(self.reach):
                self._play(directory, spark, self._go_on if same_engine else lambda: False)
        finally:
            threading.excepthook = usual

    def _play(self, directory: Path, spark: SparkSession, again: Callable[[], bool]) -> None:
        finished = False
        while not finished:
            self.stopped = False
            try:
                play(self.story, directory, spark, self.hear, again)
            except Exception:
                if not self.stopped:
                    raise
            finished = not self.stopped

    def _go_on(self) -> bool:
        was_stopped, self.stopped = self.stopped, False
        return was_stopped


def _hush(failure: threading.ExceptHookArgs) -> None:
    """The thread that compacts ends by an Interrupted, too; anything else is worth hearing of."""
    if failure.exc_type is not Interrupted:
        threading.__excepthook__(failure)
