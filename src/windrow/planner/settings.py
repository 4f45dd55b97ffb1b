"""What a planner is told: what the user asked for, what the machine has, and what things cost on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.final import Costs, shipped_costs
from windrow.operators.relational.base import MOST_PAIRS
from windrow.planner.sharing.constants import SECONDS, Constants

if TYPE_CHECKING:
    from pathlib import Path

MOST_WAITING = 10_000_000
"""Rows of one stream that may wait for others in a live engine."""


@dataclass(frozen=True)
class Settings:
    """What plans are made by. Nothing of it is in the catalog: another engine may have others."""

    optimizer: str | None = None
    """Which optimizer plans the trees; None: whichever finds the cheapest plan."""
    nodes: int | None = None
    """How many Spark tasks hold trees, or 1: none do; None: as many as there are cores, where it pays."""
    cores: int = 1
    """How many tasks Spark runs at a time."""
    costs: Costs = field(default_factory=shipped_costs)
    """What final aggregators cost, as measured for a home or as shipped."""
    most_pairs: int = MOST_PAIRS
    """So many rows may a row of a join meet."""
    most_waiting: int = MOST_WAITING
    """So many rows of a stream may wait in memory for other streams."""
    constants: Constants = SECONDS
    """What shared plans are priced by, as measured for a home or as shipped."""


def read_prices(table: Path) -> tuple[Costs, Constants]:
    """What algorithms cost, and what shared plans are priced by: as `windrow calibrate` measured it and wrote
    it to a table, or as shipped, if there is none."""
    return (Costs.read(table), Constants.read(table)) if table.exists() else (shipped_costs(), SECONDS)
