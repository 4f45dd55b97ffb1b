"""CQL: query text to statements, with errors that show line, column and the text underlined.

The language is Spark SQL's SELECT with windows behind stream names, and the statements that say where
streams and tables come from. Nothing here knows what exists: names are looked up by `windrow.logical`.
"""

from windrow.cql.deliveries import DSTREAM, ISTREAM, RSTREAM, delivery_node, delivery_of
from windrow.cql.durations import format_duration, parse_duration, positive_duration
from windrow.cql.parser import parse
from windrow.cql.row_windows import RowWindowNode
from windrow.cql.spans import name_span, place, span
from windrow.cql.statements import CreateStream, CreateTable, Query, Span, Statement
from windrow.cql.windows import TimeWindowNode, window_of

__all__ = [
    "DSTREAM",
    "ISTREAM",
    "RSTREAM",
    "CreateStream",
    "CreateTable",
    "Query",
    "RowWindowNode",
    "Span",
    "Statement",
    "TimeWindowNode",
    "delivery_node",
    "delivery_of",
    "format_duration",
    "name_span",
    "parse",
    "parse_duration",
    "place",
    "positive_duration",
    "span",
    "window_of",
]
