"""Bound plans at rest: written down when a statement is bound, read in place of binding it again.

A record is text: a seal, and then seven lines of JSON,

    sources      the stream, its columns in use, and the tables joined to it
    where        Spark SQL, or null
    window       ["time", range, slide, offset] or ["rows", rows, slide, partitioned], or null
    keys         Spark SQL and type of each
    aggregates   function, arguments, constants, DISTINCT, IGNORE NULLS, FILTER, types, and type of the answer
    outputs      name, Spark SQL, type, and the answer column that it is, of each
    rest         HAVING and the hint

Aggregates themselves are made anew by the catalogue, as in binding. Thousands of queries differ in a line or
two, their windows mostly, so a reader makes something of every different line once, and a plan of parts that
it has. Measured, in seconds of one processor for 10,000 queries with three aggregates: to read records that
differ in their windows 0.2, if they differ in WHERE, HAVING and a name too 0.4; to write them 0.8 and 1.1.
To parse and bind the statements, Spark's answers being remembered, takes 16 and 23 (by 200 of them).

The seal is the fingerprint of all that binding depended on, and of the lines. It keeps out what is no longer
so, and what is damaged. It does not keep out who can write the home and knows how to make a seal; so that
such a record runs no code either, its SQL has to be `harmless`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from sqlglot import parse_one

from windrow.aggregates import FUNCTIONS, Call, share_moments
from windrow.logical.aggregate import AggregateQuery
from windrow.logical.bind.calls import spark_sql
from windrow.logical.bind.questions import view_name
from windrow.logical.fingerprint import fingerprint, lasts
from windrow.logical.harmless import harmless
from windrow.logical.query import BoundQuery, Enrich, Output, Scan
from windrow.logical.relation import Stream, Table
from windrow.logical.select import SelectQuery
from windrow.logical.types_at_rest import type_from_json, type_to_json
from windrow.slicing import RowWindow, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from windrow.aggregates import Aggregate
    from windrow.cql import Query
    from windrow.logical.relation import Relation

Made = TypeVar("Made")

LINES = 7
REMEMBERED = 10_000
"""How many different lines a reader remembers, before it begins anew: an engine may run for months, and its
queries come and go."""
JOIN = re.compile(
    r"(?:(?:LEFT|INNER|CROSS) )?JOIN (`(?:[^`]|``)+`) AS `(?:[^`]|``)+`(?: ON (.+))?", re.DOTALL
)
"""A join as binding writes it: the view of its table, and its condition."""


@dataclass(frozen=True)
class Sources:
    """What the rows of a query come from, as it is declared now."""

    scan: Scan
    enrichments: tuple[Enrich, ...]
    relations: list[Relation]
    """The stream, and the tables."""


class PlanRecords:
    """Writes and reads the records of an engine's plans, as long as its relations and Spark's settings stay.

    `relation` says what a name is now (None: nothing); what it raises goes through to the caller.
    """

    def __init__(self, relation: Callable[[str], Relation | None], surroundings: str) -> None:
        """`surroundings`: what all bindings depend on (see `windrow.logical.surroundings`)."""
        self._relation = relation
        self._surroundings = surroundings
        self._known_sources: dict[str, Sources | None] = {}
        self._made: dict[tuple[Callable[[str], Any], str], Any] = {}

    def write(self, query: Query, plan: BoundQuery) -> str | None:
        """The record of a plan that has just been bound; None if its statement has to be bound each time."""
        is_written = isinstance(plan, AggregateQuery | SelectQuery) and lasts(query)
        lines = _unless_it_fails(_lines, plan) if is_written else None
        sources = self._sources(lines[0]) if lines is not None else None
        # What would not be read back, to an equal plan, is not kept.
        if lines is None or sources is None or self._plan(lines, sources) != plan:
            return None
        return "\n".join([self._seal(query.select_sql, sources, lines), *lines])

    def read(self, sql: str, record: str) -> BoundQuery | None:
        """The plan of a SELECT, as binding would make it; None if that is not certain: bind it again."""
        seal, *lines = record.split("\n")
        sources = self._sources(lines[0]) if len(lines) == LINES else None
        if sources is None or seal != self._seal(sql, sources, lines):
            return None
        return self._plan(lines, sources)

    def _seal(self, sql: str, sources: Sources, lines: Sequence[str]) -> str:
        plan = "\n".join(lines)
        depends = fingerprint(sql, plan, sources.relations, self._surroundings)
        return sha256(f"{depends}\n{plan}".encode(errors="backslashreplace")).hexdigest()

    def _sources(self, line: str) -> Sources | None:
        """What the rows come from, as it is declared now; None if it is not, or the line is damaged."""
        if line not in self._known_sources:
            names = _unless_it_fails(_names, line)
            if names is None:
                return None
            relations = {name: self._relation(name) for name in names}
            self._known_sources[line] = _unless_it_fails(_sources, line, relations)
        return self._known_sources[line]

    def _plan(self, lines: Sequence[str], sources: Sources) -> BoundQuery | None:
        if len(self._made) > REMEMBERED:
            self._made.clear()
        parts = []
        for line, make in zip(lines[1:], PARTS, strict=True):
            if (make, line) not in self._made:
                self._made[make, line] = _unless_it_fails(make, line)
            parts.append(self._made[make, line])
        if any(part is None for part in parts):
            return None
        (where,), (window,), (keys, key_types), aggregates, outputs, (having, algorithm) = parts
        kind = SelectQuery if window is None else partial(AggregateQuery, window=window)
        return kind(
            scan=sources.scan,
            enrichments=sources.enrichments,
            where=where,
            keys=keys,
            key_types=key_types,
            aggregates=aggregates,
            outputs=outputs,
            having=having,
            algorithm=algorithm,
        )


def _unless_it_fails(make: Callable[..., Made], *given: Any) -> Made | None:
    """What a function returns; None if it raises. Whatever is wrong with a record, its statement says all of
    it again."""
    try:
        return make(*given)
    except Exception:
        return None


# writing


def _lines(plan: BoundQuery) -> list[str]:
    parts: list[Any] = [
        [plan.stream.name, plan.scan.columns, [[joined.table, joined.join] for joined in plan.enrichments]],
        plan.where,
        _written_window(plan),
        list(zip(plan.keys, map(type_to_json, plan.key_types), strict=True)),
        list(map(_written, plan.aggregates)),
        [[o.name, o.expression, type_to_json(o.type), o.answer] for o in plan.outputs],
        [plan.having, plan.algorithm],
    ]
    return [json.dumps(part, ensure_ascii=False, separators=(",", ":")) for part in parts]


def _written_window(plan: BoundQuery) -> list[Any] | None:
    for window in plan.time_windows:
        return ["time", window.range, window.slide, window.offset]
    rows = plan.row_window
    return None if rows is None else ["rows", rows.rows, rows.slide, rows.partitioned]


def _written(aggregate: Aggregate) -> list[Any]:
    call = aggregate.call
    types = [list(map(type_to_json, aggregate.argument_types)), type_to_json(aggregate.result_type)]
    flags = [call.distinct, call.ignore_nulls]
    return [call.function, call.arguments, call.constants, *flags, call.where, *types]


# reading: each takes a line, and raises one thing or another if there is something wrong with it


def _names(line: str) -> list[str]:
    stream, _, joins = json.loads(line)
    return [_text(stream), *(_text(table) for table, _ in joins)]


def _sources(line: str, relations: Mapping[str, Relation | None]) -> Sources:
    name, columns, joins = json.loads(line)
    stream = relations[name]
    tables = [relations[table] for table, _ in joins]
    if not isinstance(stream, Stream) or not all(isinstance(table, Table) for table in tables):
        raise ValueError("other relations have these names now")
    if not stream.columns.keys() >= set(columns):
        raise ValueError("the stream has other columns now")
    enrichments = tuple(Enrich(table, _join(table, join)) for table, join in joins)
    return Sources(
        Scan(stream, tuple(columns)), enrichments, [stream, *(table for table in tables if table is not None)]
    )


def _join(table: str, join: str) -> str:
    """A join that binding could have written."""
    found = JOIN.fullmatch(join)
    if found is None or found[1] != view_name(table):
        raise ValueError(f"this joins something else than {table}")
    # Behind a comma there could be another relation, so words alone are not enough; joins are few.
    if found[2] is not None and spark_sql(parse_one(harmless(found[2]), dialect="spark")) != found[2]:
        raise ValueError("this is more than a condition")
    return join


def _where(line: str) -> tuple[str | None]:
    return (_expression_or_none(json.loads(line)),)


def _window(line: str) -> tuple[Window | RowWindow | None]:
    given = json.loads(line)
    if given is None:
        return (None,)
    kind, size, slide, last = given
    if not _whole(size) > 0 < _whole(slide):
        raise ValueError("a window without length")
    if kind == "time":
        return (Window(size, slide, _whole(last)),)
    if kind != "rows":
        raise ValueError(f"{kind!r} is no kind of window")
    return (RowWindow(size, slide, _flag(last)),)


def _keys(line: str) -> tuple[tuple[str, ...], tuple[pa.DataType, ...]]:
    keys = json.loads(line)
    return tuple(_expression(sql) for sql, _ in keys), tuple(type_from_json(of_type) for _, of_type in keys)


def _aggregates(line: str) -> tuple[Aggregate, ...]:
    return tuple(share_moments(_aggregate(*written) for written in json.loads(line)))


def _aggregate(
    function: str,
    arguments: list[str],
    constants: list[Any],
    distinct: bool,
    ignore_nulls: bool,
    where: str | None,
    types: list[Any],
    answer: Any,
) -> Aggregate:
    call = Call(
        function,
        tuple(map(_expression, arguments)),
        _constants(constants),
        _flag(distinct),
        _flag(ignore_nulls),
        _expression_or_none(where),
    )
    if len(types) != len(arguments):
        raise ValueError(f"{len(types)} types for {len(arguments)} arguments")
    return FUNCTIONS[function].make(call, tuple(map(type_from_json, types)), type_from_json(answer))


def _constants(given: list[Any]) -> tuple[Any, ...]:
    return tuple(_constants(value) if isinstance(value, list) else _constant(value) for value in given)


def _constant(value: Any) -> Any:
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, bool | int | float):
        return value
    raise ValueError(f"{value!r} is no constant")


def _outputs(line: str) -> tuple[Output, ...]:
    return tuple(
        Output(
            _text(name), _expression(sql), type_from_json(of_type), None if answer is None else _text(answer)
        )
        for name, sql, of_type, answer in json.loads(line)
    )


def _rest(line: str) -> tuple[str | None, str | None]:
    having, algorithm = json.loads(line)
    return _expression_or_none(having), None if algorithm is None else _text(algorithm)


PARTS: tuple[Callable[[str], Any], ...] = (_where, _window, _keys, _aggregates, _outputs, _rest)
"""What is made of each line but the first."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is no whole number")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _expression(value: Any) -> str:
    return harmless(_text(value))


def _expression_or_none(value: Any) -> str | None:
    return None if value is None else _expression(value)
