"""What the binding of a statement depended on, as a short text: while it is equal, the plan still holds.

A plan in a home is used in place of binding its statement again only if nothing that binding looks at has
changed: the statement, the columns that it names, Spark with its settings, and Windrow's own code. A star
names no columns; those that it stood for are in the plan, and it stands for no others as long as these are
there, so a plan with a star holds although binding the statement as a new one would give more columns. What
may change without a trace is a function of the user's; statements that may call one are never taken from a
home.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.aggregates import FUNCTIONS
from windrow.columns import quoted
from windrow.logical.bind.calls import canonical
from windrow.logical.relation import Stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from importlib.resources.abc import Traversable

    from windrow.cql import Query
    from windrow.logical.relation import Relation

BINDING = ("windrow.aggregates", "windrow.cql", "windrow.logical")
"""The packages that make a plan of a statement."""


def lasts(query: Query) -> bool:
    """Whether the same text will always mean the same: it calls functions of Spark's and Windrow's only.

    What the grammar does not know may be a function of the user's, and be another one tomorrow.

    >>> from windrow.cql import parse
    >>> [lasts(q) for q in parse("SELECT TOP_K(x, 3) FROM s; SELECT MAX(mine(x)) FROM s")]
    [True, False]
    """
    return all(
        canonical(node.name.lower()) in FUNCTIONS or node.find_ancestor(exp.Hint) is not None
        for node in query.select.find_all(exp.Anonymous)
    )


def surroundings(settings: Sequence[str]) -> str:
    """What all bindings of an engine depend on, as a short text: Windrow's code, the library that reads and
    writes SQL for it, and Spark's version and settings, as `SparkAnalyst.settings` has them."""
    return _digest(*_binding_code(), *settings)


def fingerprint(sql: str, plan: str, relations: Iterable[Relation], surroundings: str) -> str:
    """What the binding of a SELECT over these relations, to a plan that is written as JSON, depends on.

    Of a relation it looks at the columns that the SELECT may name, also if in the end they are not used: a
    new column may make a name ambiguous, or mean what was an alias before. It looks at those that the plan
    names as well: a star has been spelled out there. Others may come and go.

    >>> import pyarrow as pa
    >>> from windrow.logical import Table
    >>> before, after = Table("t", {"x": pa.int64()}), Table("t", {"x": pa.int64(), "day": pa.date32()})
    >>> [
    ...     fingerprint(sql, plan, [before], "") == fingerprint(sql, plan, [after], "")
    ...     for sql, plan in (
    ...         ("SELECT MAX(x) FROM t", '"`x`"'),
    ...         ("SELECT x + 1 AS day FROM t GROUP BY day", '"`x` + 1"'),
    ...         ("SELECT * FROM t", '"`x`"'),
    ...         ("SELECT * FROM t", '"`x`", "`day`"'),
    ...     )
    ... ]
    [True, False, True, False]
    """
    spelled = sql.casefold()
    return _digest(sql, surroundings, *(part for each in relations for part in _parts(each, spelled, plan)))


def _parts(relation: Relation, spelled: str, plan: str) -> Iterator[str]:
    """What binding looks at in a relation, for a statement that is spelled so and became this plan."""
    always = None
    if isinstance(relation, Stream):
        always = relation.timestamp
        yield f"stream {relation.name!r} {relation.timestamp!r} {relation.zone!r}"
    else:
        yield f"table {relation.name!r}"
    for name, of_type in relation.columns.items():
        # In backquotes, one that belongs to the name is written twice. A plan has all names in backquotes.
        written = quoted(name)
        named = json.dumps(written, ensure_ascii=False)[1:-1] in plan
        if name == always or named or written[1:-1].casefold() in spelled:
            yield f"{name!r} {of_type}"


def _digest(*parts: str) -> str:
    # As Python writes them: no two lists of parts are written alike.
    return sha256(repr(parts).encode(errors="backslashreplace")).hexdigest()


@cache
def _binding_code() -> tuple[str, str]:
    """The code that binds, as a short text, and the version of the library that it reads SQL with.

    Nobody has to remember to raise a number when it changes. Takes 3 ms, once a process.
    """
    digest = sha256()
    for package in BINDING:
        for source in _sources(files(package)):
            digest.update(source.read_bytes())
    return digest.hexdigest(), version("sqlglot")


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _sources(item)
        elif item.name.endswith(".py"):
            yield item
