"""The settings that an engine runs by: what it was opened with, and what things cost where it runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from windrow.final import Costs, shipped_costs
from windrow.planner.sharing import SECONDS, Constants

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """What plans are made by. Nothing of it is in the catalog: another engine may have others."""

    optimizer: str | None = None
    """Which optimizer plans the trees; None: whichever finds the cheapest plan."""
    nodes: int | None = None
    """How many Spark tasks hold trees, or 1: none do; None: as many as there are cores, where it pays."""
    cores: int = 1
    costs: Costs = field(default_factory=shipped_costs)
    """What algorithms cost."""
    constants: Constants = SECONDS
    """What shared plans are priced by."""


def read_prices(table: Path) -> tuple[Costs, Constants]:
    """What algorithms cost, and what shared plans are priced by: as `windrow calibrate` measured it and wrote
    it to a table, or as shipped, if there is none."""
    return (Costs.read(table), Constants.read(table)) if table.exists() else (shipped_costs(), SECONDS)


class EngineSettings:
    """The settings that one engine runs by at this moment.

    Whoever plans looks at `now` each time. It is replaced, never changed, so that what somebody has in hand
    is of one moment, whichever thread asks.
    """

    def __init__(self, settings: Settings) -> None:
        self.now = settings

    def leave_trees_to_the_driver(self) -> None:
        """Let no Spark tasks hold trees from now on."""
        self.now = replace(self.now, nodes=1)
