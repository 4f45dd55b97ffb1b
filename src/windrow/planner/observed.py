"""What is known of a stream when its part of a plan is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windrow.columns import BEGINNING
from windrow.planner.passes.experience import NO_EXPERIENCE, Experience


@dataclass(frozen=True)
class Observed:
    """How far a stream is, and what its batches have shown."""

    latest: int | None = None
    """The latest event time committed; None: no row has come, or rows come from the beginning."""
    evaluated: int = BEGINNING
    """The instant up to which windows have been answered."""
    rate: float | None = None
    """Rows a second of event time, of late; None as long as nobody can know."""
    batch_seconds: float | None = None
    """How much event time a batch brings, of late; None as long as nobody can know."""
    groups: Mapping[int, int] = field(default_factory=dict)
    """How many groups the states of operators know, by the number of the operator."""
    experience: Experience = NO_EXPERIENCE
    """What batches have shown of the passes over them."""
