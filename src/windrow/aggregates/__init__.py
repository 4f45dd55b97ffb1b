"""Aggregates: lift, combine, inverse and lower, each with its declared algebra; one file a family."""

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.catalogue import AGGREGATES, aggregate
from windrow.aggregates.operations import Algebra, Operation

__all__ = ["AGGREGATES", "Aggregate", "Algebra", "Operation", "Partial", "RecordColumn", "aggregate"]
