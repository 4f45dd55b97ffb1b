"""The logical plan: statements bound against real schemas."""

from windrow.columns import aggregate_name, key_name
from windrow.logical.aggregate import AggregateQuery, describe
from windrow.logical.bind.binder import bind
from windrow.logical.bind.named_queries import with_named_queries
from windrow.logical.bind.questions import ANSWERS, Analyst, view_name
from windrow.logical.fingerprint import surroundings
from windrow.logical.query import BoundQuery, Enrich, Output, Scan
from windrow.logical.records import PlanRecords
from windrow.logical.relation import Relation, Stream, Table
from windrow.logical.relational import RelationalQuery
from windrow.logical.select import SelectQuery

__all__ = [
    "ANSWERS",
    "AggregateQuery",
    "Analyst",
    "BoundQuery",
    "Enrich",
    "Output",
    "PlanRecords",
    "Relation",
    "RelationalQuery",
    "Scan",
    "SelectQuery",
    "Stream",
    "Table",
    "aggregate_name",
    "bind",
    "describe",
    "key_name",
    "surroundings",
    "view_name",
    "with_named_queries",
]
