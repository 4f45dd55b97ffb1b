"""Trying again what the machine made fail: a few times, with pauses that grow, and then no more.

A joined table's file that is being replaced is back within seconds, a job that somebody cancelled runs at
the second attempt. What stays is not waited for: the stream stops, says why, and goes on when it is started
again. Nothing is lost by that, because nothing of the batch or epoch has been committed.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, TypeVar

from windrow.errors import MachineFailed, QueryFailed, WindrowError
from windrow.runtime.logs import event
from windrow.runtime.spark.blame import Stopped, passes

if TYPE_CHECKING:
    from collections.abc import Callable

    Done = TypeVar("Done")

PAUSES = (0.5, 2.0, 8.0)
"""Seconds before the second, third and last attempt. The first is long enough for somebody who has cancelled
jobs in order to stop the stream, as Ctrl-C does, to come to that."""
LOOK_SECONDS = 0.05
"""How soon a pause ends when the stream is stopped."""
NOTHING_LOST = "No query is to blame, and nothing is lost: the next start goes on from the last commit"


class Patience:
    """The attempts that are left for one batch or epoch."""

    def __init__(self, what: str, stopping: Callable[[], bool]) -> None:
        """`what` is being tried; `stopping` says whether somebody is stopping it."""
        self._what = what
        self._stopping = stopping
        self._pauses = list(PAUSES)
        self._attempts = 1

    def through(self, attempt: Callable[[], Done]) -> Done:
        """What an attempt gives, or a later one; a query's failure is raised as it is."""
        while True:
            try:
                return attempt()
            except QueryFailed as error:
                if self._stopping():
                    raise Stopped from error
                raise
            except WindrowError as error:
                self.wait(error)

    def wait(self, error: WindrowError) -> None:
        """Pause before another attempt; raises an error if there is to be none."""
        if self._stopping():
            raise Stopped from error
        if not passes(error) or not self._pauses:
            if isinstance(error, MachineFailed):
                raise self._given_up(error) from error
            raise error
        pause = self._pauses.pop(0)
        self._attempts += 1
        event(
            logging.WARNING, "tried_again", "%(what)s is tried again in %(seconds)g s: %(reason)s",
            what=self._what, seconds=pause, reason=str(error),
        )  # fmt: skip
        until = time.monotonic() + pause
        while (left := until - time.monotonic()) > 0:
            if self._stopping():
                raise Stopped from error
            time.sleep(min(LOOK_SECONDS, left))

    def _given_up(self, error: MachineFailed) -> MachineFailed:
        tried = f" ({self._attempts} attempts)" if self._attempts > 1 else ""
        told = f"{self._what} failed: {error.problem.rstrip('.')}{tried}. {NOTHING_LOST}"
        return type(error)(error.problem, told, lasting=error.lasting)
