"""What a result schema declares of the answers that have it: what they are, and where they lie in time.

A home is read without binding its queries, also by a process that has no Spark. So what a reader must know
of a query to put its answer at an instant together is metadata of the query's result schema: a little JSON.
Queries that differ in it alone share their result files, which say nothing of it: the catalog has it with the
query.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from windrow.columns import WINDOW_ROW

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.logical import BoundQuery

KIND = b"windrow_answers"
"""The entry in the metadata of a result schema."""


@dataclass(frozen=True)
class AnswerKind:
    """What the answers of a query are.

    >>> AnswerKind("evaluations", slide=60_000_000, offset=5_000_000).last_evaluation(130_000_000)
    125000000
    """

    form: Literal["changes", "evaluations", "rows"]
    """Changes, from which the answer at an instant is put together; the whole answer at each evaluation; or
    rows that stand for themselves."""
    delivery: str = "RSTREAM"
    pattern: str = "monotonic"
    """How results end, as an update pattern."""
    slide: int | None = None
    """The time between two evaluations; None where it is not time that says when they are."""
    offset: int = 0
    longest: int = 0
    """How long the longest window is from which rows leave."""
    lasts: bool = False
    """Whether the last evaluation that has answers holds for ever: no row leaves any window."""

    @property
    def can_end(self) -> bool:
        """Whether they are changes of an answer from which something goes again."""
        return self.form == "changes" and self.pattern != "monotonic"

    def last_evaluation(self, until: int) -> int:
        """The last evaluation up to an instant."""
        assert self.slide is not None
        return until - (until - self.offset) % self.slide


def kind_of(query: BoundQuery) -> AnswerKind:
    """What the answers of a bound query are."""
    # Imported here: whoever binds has it, and whoever only reads a home does not wait for it.
    from windrow.logical import RelationalQuery

    pattern = query.pattern.value
    if isinstance(query, RelationalQuery):
        form: Literal["changes", "rows"] = "changes" if query.has_changes else "rows"
        return AnswerKind(
            form if query.slide is None else "evaluations",
            query.delivery, pattern, query.slide, query.offset, query.longest,
            lasts=query.slide is not None
            and query.having is None
            and all(leaf.window is None for leaf in query.windows),
        )  # fmt: skip
    for window in query.time_windows:
        return AnswerKind("evaluations", "RSTREAM", pattern, window.slide, window.offset, window.range)
    return AnswerKind("rows" if WINDOW_ROW not in query.time_columns else "evaluations")


def declaring_kind(schema: pa.Schema, kind: AnswerKind) -> pa.Schema:
    """A result schema that declares what its answers are, beside what it declares already.

    >>> import pyarrow as pa
    >>> declared_kind(declaring_kind(pa.schema([("n", pa.int64())]), AnswerKind("rows"))).form
    'rows'
    """
    told = json.dumps({name: v for name, v in asdict(kind).items() if v is not None and v is not False})
    return schema.with_metadata({**(schema.metadata or {}), KIND: told})


def declared_kind(schema: pa.Schema) -> AnswerKind | None:
    """What a result schema declares its answers to be; None if an earlier Windrow made it."""
    told = (schema.metadata or {}).get(KIND)
    return None if told is None else AnswerKind(**json.loads(told))


def without_kind(schema: pa.Schema) -> pa.Schema:
    """A result schema without what it declares of answers: what queries have in common that share files."""
    metadata = {key: value for key, value in (schema.metadata or {}).items() if key != KIND}
    return schema.with_metadata(metadata or None)


def declaring_as(schema: pa.Schema, other: pa.Schema) -> pa.Schema:
    """A result schema that declares of its answers what another one does."""
    kind = declared_kind(other)
    return schema if kind is None else declaring_kind(schema, kind)
