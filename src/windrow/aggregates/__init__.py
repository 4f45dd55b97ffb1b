"""Aggregates: lift, combine, inverse and lower, each with its declared algebra; one file a family."""

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.call import Call
from windrow.aggregates.catalogue import AGGREGATES, FUNCTIONS, SYNONYMS, aggregate
from windrow.aggregates.function import Constant, Function
from windrow.aggregates.higher_moments import share_moments
from windrow.aggregates.operations import Algebra, Operation
from windrow.aggregates.own.function import OwnAggregate, OwnFunction, own_function

__all__ = [
    "AGGREGATES",
    "FUNCTIONS",
    "SYNONYMS",
    "Aggregate",
    "Algebra",
    "Call",
    "Constant",
    "Function",
    "Operation",
    "OwnAggregate",
    "OwnFunction",
    "Partial",
    "RecordColumn",
    "aggregate",
    "own_function",
    "share_moments",
]
