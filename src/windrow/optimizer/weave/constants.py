"""What the four things cost that a shared plan does: in operations, as in the paper, or in seconds.

The paper counts a row that a tree takes in and a final operation as one each, and nothing else. On a
machine, a row in the JVM, a partial that leaves it, a final operation on arrays and a result are far from
alike; with constants in seconds the same formula gives the seconds of work a second of stream needs.
Source: Shein 2019, equations 2.1 and 7.1.
"""

from __future__ import annotations

from dataclasses import dataclass


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


OPERATIONS = Constants(row=1.0, partial=0.0, operation=1.0, result=0.0)
"""The paper's unit."""

SECONDS = Constants(row=60e-9, partial=400e-9, operation=10e-9, result=50e-9)
"""As shipped; of the order that two cores of a laptop take, to be replaced by a measurement."""
