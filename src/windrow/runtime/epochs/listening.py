"""How long a stream that is being read has been silent, as far as anybody can know.

Silence is what was listened to: it begins when Spark is done with a batch, and reaches as far as the last
time that Spark looked for rows and found none. What has come since, nobody has seen. To presume instead that
Spark looked a trigger ago makes rows late that wait at the source, whenever it did not: a process that was
suspended, a machine that was paused, a directory that takes long to list.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

STEP_SECONDS = 1.0
"""By how much the clock must outrun the monotonic one to have been set, or the machine to have slept. The two
are read one after the other, and clocks are corrected by milliseconds all the time."""


class Listening:
    """The silence of one stream while a live reader has it.

    `looked` says when Spark last began to look, by the system's clock. A clock of the user's own cannot be
    compared with that; there `looked` is None, and Spark is taken to have looked one trigger ago.
    """

    def __init__(
        self, clock: Callable[[], float], every: float, looked: Callable[[], float | None] | None
    ) -> None:
        self._clock = clock
        self._every = every
        self._looked = looked
        self.begin()

    def begin(self) -> None:
        """Count from now: Spark is about to look for the first time, or is done with a batch."""
        self._since = self._clock()
        self._lead = self._since - monotonic()

    def end(self) -> None:
        """Nobody reads the stream any more: from here on its silence goes on with the clock."""
        self._looked = None

    def silence(self) -> tuple[float, float]:
        """Since when the stream has been silent, and until when; as long as nobody can know, no time at all.

        Where the system's clock has outrun the monotonic one, the machine has slept or its clock was set:
        rows may be under way that nobody could send meanwhile, and the count starts anew.
        """
        if self._looked is None:
            return self._since, self._clock() - self._every
        looked = self._looked()  # first: whatever step of the clock this time shows, the next line sees too
        now = self._clock()
        if now - monotonic() - self._lead > STEP_SECONDS:
            self.begin()
        if looked is None or looked > now:  # not yet, or before the clock was set back
            return self._since, self._since
        return self._since, looked
