"""Update patterns: how the results on an edge of a plan come to an end.

Source: Golab 2006, §3.2. An edge says which pattern it has, because what stands at its end depends on it:
where results end in the order in which they came, state is a queue; where they end at times that they say
themselves, it is sorted by those; where they are taken back, somebody has to look for them.
"""

from __future__ import annotations

from enum import Enum


class UpdatePattern(Enum):
    """How results end, from the pattern that asks least of those who keep them to the one that asks most."""

    MONOTONIC = "monotonic"
    """Results never end."""
    WEAKEST = "weakest"
    """Results end in the order in which they came."""
    WEAK = "weak"
    """Results end at a time that is known when they come."""
    STRICT = "strict"
    """Results may be taken back at any time."""
