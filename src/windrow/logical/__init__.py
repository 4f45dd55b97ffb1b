"""The logical plan: statements bound against real schemas."""

from windrow.columns import aggregate_name, key_name
from windrow.logical.bind.binder import ANSWERS, bind
from windrow.logical.bind.questions import Analyst, quoted, view_name
from windrow.logical.fingerprint import surroundings
from windrow.logical.plan import AggregateQuery, Enrich, Output, Scan, describe
from windrow.logical.records import PlanRecords
from windrow.logical.relation import Relation, Stream, Table

__all__ = [
    "ANSWERS",
    "AggregateQuery",
    "Analyst",
    "Enrich",
    "Output",
    "PlanRecords",
    "Relation",
    "Scan",
    "Stream",
    "Table",
    "aggregate_name",
    "bind",
    "describe",
    "key_name",
    "quoted",
    "surroundings",
    "view_name",
]
