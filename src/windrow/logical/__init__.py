"""The logical plan: statements bound against real schemas."""

from windrow.logical.bind import ANSWERS, Analyst, bind, view_name
from windrow.logical.plan import AggregateQuery, Enrich, Output, Scan, describe
from windrow.logical.relation import Relation, Stream, Table

__all__ = [
    "ANSWERS",
    "AggregateQuery",
    "Analyst",
    "Enrich",
    "Output",
    "Relation",
    "Scan",
    "Stream",
    "Table",
    "bind",
    "describe",
    "view_name",
]
