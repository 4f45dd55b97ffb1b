"""Where an epoch can be interrupted: every step of the commit protocol says that it has been reached.

Tests stop the process there, or make the step fail; docs/commit.md says what each leaves behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = (
    "batch staged",
    "queries answered",
    "files written",
    "files forced to disk",
    "transaction open",
    "epoch committed",
    "old files removed",
    "answers delivered",
    "compaction written",
    "compaction committed",
    "compacted files removed",
)

on_step: Callable[[str], None] | None = None
"""Called with the name of each step; only tests set it."""


def reach(step: str) -> None:
    """Say that a step has been reached."""
    if on_step is not None:
        on_step(step)
