"""Windrow: sliding-window queries over data streams, on Apache Spark, from Python.

Names are imported when they are first used, so that `windrow.final` and the like need no Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import windrow.checks as checks
    from windrow.aggregates.own.function import OwnAggregate
    from windrow.api.engine import Engine
    from windrow.api.sliding import sliding
    from windrow.errors import (
        HomeError,
        MachineFailed,
        PlanError,
        QueryFailed,
        SourceError,
        StatementError,
        WindrowError,
    )

__version__ = "0.1.0"

__all__ = [
    "Engine",
    "HomeError",
    "MachineFailed",
    "OwnAggregate",
    "PlanError",
    "QueryFailed",
    "SourceError",
    "StatementError",
    "WindrowError",
    "checks",
    "sliding",
]

_PLACES = {
    "Engine": "windrow.api.engine",
    "OwnAggregate": "windrow.aggregates.own.function",
    "sliding": "windrow.api.sliding",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'windrow' has no attribute '{name}'")
    if name == "checks":
        return import_module("windrow.checks")
    return getattr(import_module(_PLACES.get(name, "windrow.errors")), name)
