"""What the four things cost that a shared plan does: in operations, as in the paper, or in seconds.

The paper counts a row that a tree takes in and a final operation as one each, and nothing else. On a
machine, a row in the JVM, a partial that leaves it, a final operation on arrays and a result are far from
alike; with constants in seconds the same formula gives the seconds of work a second of stream needs.
`windrow calibrate HOME` measures them on the machine at hand, beside the costs of the final aggregators.
Source: Shein 2019, equations 2.1 and 7.1.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import WindrowError

if TYPE_CHECKING:
    import os

MEASURED = "plan_nanoseconds"
"""Where a table of costs has them, by name."""


@dataclass(frozen=True)
class Constants:
    """The price of one of each."""

    row: float
    """One more pass over a row."""
    partial: float
    """One partial (a slice of one group) collected from the JVM and merged."""
    operation: float
    """One final operation."""
    result: float
    """One result written."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Constants:
        """As measured, in a table of costs that `windrow calibrate` wrote; the rest as shipped."""
        try:
            measured = json.loads(Path(path).read_text(encoding="utf-8")).get(MEASURED, {})
            known = {of.name for of in fields(cls)}
            seconds = {name: float(price) * 1e-9 for name, price in measured.items() if name in known}
            if not all(isfinite(price) and price > 0 for price in seconds.values()):
                raise ValueError(f"costs of {measured}")
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise WindrowError(
                f"{path} is not a table of costs ({error}); remove it, or measure with windrow calibrate"
            ) from error
        return replace(SECONDS, **seconds)


OPERATIONS = Constants(row=1.0, partial=0.0, operation=1.0, result=0.0)
"""The paper's unit."""

SECONDS = Constants(row=60e-9, partial=1_200e-9, operation=22e-9, result=140e-9)
"""As shipped: what `windrow calibrate` measured on two cores. A row varies most, from 15 to 100 ns; processor
time alone says 40 to 60."""
