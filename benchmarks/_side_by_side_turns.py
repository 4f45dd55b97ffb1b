"""How the two processes of a pair take turns, so that a slow minute of the machine hits them alike.

Each works only while it is its turn, and gives that away after every run that it measures: what is compared
was measured seconds apart. The turn is a byte that goes to and fro through two pipes. The pipe of a process
that has ended is closed, and reading from it does not wait: then it is always the other one's turn.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any


@dataclass(frozen=True)
class Turns:
    """One side: the descriptors from which the turn is taken, and to which it is given."""

    taking: int
    giving: int

    def take(self) -> None:
        """Wait until it is this process's turn."""
        os.read(self.taking, 1)

    def give(self) -> None:
        """Let the other process work, if it is still there."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.giving, b".")

    def close(self) -> None:
        """Leave it to the other side for good."""
        os.close(self.taking)
        os.close(self.giving)

    def between(self, owner: type, method: str) -> None:
        """Give the turn away after each call of a method, and go on when it is back."""
        measure: Callable[..., Any] = getattr(owner, method)

        @wraps(measure)
        def measure_in_turn(*arguments: Any, **named: Any) -> Any:
            found = measure(*arguments, **named)
            self.give()
            self.take()
            return found

        setattr(owner, method, measure_in_turn)


def pair_of_turns() -> tuple[Turns, Turns]:
    """Both sides, for two processes; it is the first one's turn."""
    to_first, from_second = os.pipe()
    to_second, from_first = os.pipe()
    os.write(from_second, b".")
    return Turns(to_first, from_first), Turns(to_second, from_second)
