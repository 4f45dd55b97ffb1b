"""Measure what the final aggregators cost here, for the planner of one home."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from windrow.final.calibrate import calibrate, write
from windrow.runtime.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def calibrate_home(
    home: str | os.PathLike[str], progress: Callable[[str], None] = lambda _: None, *, quick: bool = False
) -> Path:
    """Write the table of costs of this machine into a home, which is made if it is not there.

    Engines that start on the home from then on choose by it. `progress` gets the name of each algorithm
    as its turn comes; `quick` measures a few window lengths, once.
    """
    opened = Home(home)
    try:
        table = calibrate(progress, (1, 16), 1) if quick else calibrate(progress)
        about = {
            "measured": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        }
        path = opened.costs_path
        unfinished = path.with_suffix(".unfinished")
        write(about | table, unfinished)
        unfinished.replace(path)
        return path
    finally:
        opened.close()
