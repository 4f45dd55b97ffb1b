"""A statement that selects from the results of queries, with their statements in it.

    SELECT AVG(dep_delay) FROM late [RANGE 1 HOUR SLIDE 1 MINUTE]

    WITH late AS (SELECT dep_delay FROM flights WHERE dep_delay > 30)
    SELECT AVG(dep_delay) FROM late [RANGE 1 HOUR SLIDE 1 MINUTE]

The second is what is bound and kept in place of the first. So nothing depends on a name: a query that
others select from can be dropped, and one that comes under its name later is another one. And there are no
circles: a statement can name only what was there before it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.columns import quoted
from windrow.cql import Query, name_span, parse, place

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


NAMED = "named_query"
"""The key in the `meta` of a query of WITH that is a query of its own."""


def is_named_query(cte: exp.CTE) -> bool:
    """Whether a query of WITH was put there for the name of a query."""
    return NAMED in cte.meta


def with_named_queries(
    query: Query, relations: Collection[str], statement_of: Callable[[str], str | None]
) -> Query:
    """A statement with those of the queries that it selects from.

    `relations`: what names streams and tables have, which go before those of queries; `statement_of`: the
    statement of a query by its name, None if there is no such query.
    """
    taken = {name.lower() for name in relations}
    taken |= {cte.alias.lower() for cte in query.select.find_all(exp.CTE)}
    found: dict[str, tuple[exp.CTE, str]] = {}
    for table in query.select.find_all(exp.Table):
        name = table.name.lower()
        if name in taken or name in found or table.db:
            continue
        sql = statement_of(table.name)
        if sql is not None:
            written = quoted(table.name) if table.this.quoted else table.name
            end = "\n" if "--" in sql else ""
            found[name] = _placed(table, sql), f"{written} AS ({sql}{end})"
    if not found:
        return query
    named, texts = zip(*found.values(), strict=True)
    select = query.select.copy()
    clause = select.args.get("with_")
    own = clause.expressions if clause is not None else []
    select.set("with_", exp.With(expressions=[*named, *own]))
    first, rest = ", ".join(texts), query.select_sql
    if clause is not None and (begin := re.match(r"WITH\b", rest, re.IGNORECASE)):
        text = f"WITH {first},{rest[begin.end() :]}"
    else:
        text = f"WITH {first}\n{rest}"
    return replace(query, select=select, select_sql=text)


def _placed(table: exp.Table, sql: str) -> exp.CTE:
    """The statement of a query as one of WITH. What is wrong in it is wrong where its name stands."""
    (statement,) = parse(sql)
    assert isinstance(statement, Query)
    place(statement.select, name_span(table))
    alias = exp.TableAlias(this=table.this.copy())
    cte = exp.CTE(this=statement.select, alias=alias)
    cte.meta[NAMED] = True
    return cte
