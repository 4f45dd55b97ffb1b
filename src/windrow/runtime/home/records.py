"""What a home remembers, as records: the rows of its catalog, and all that an epoch commits.

They are of plain values, and frozen, but for the `Epoch`, which is put together while it runs: whoever has
one has what was committed, or what is to be, and nothing that lives. Instants are microseconds since 1970; a
`clock` is seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from windrow.errors import StatementError, WindrowError
from windrow.runtime.home.declarations import without_kind

if TYPE_CHECKING:
    import pyarrow as pa

OPERATORS = "operators"
"""The owner of the files of slices, which are of all operators."""
FOLDERS = ("results", "slices", "late", "dead")
"""The kinds of files, and the directories of a home that they are in."""

RequestKind = Literal["add", "drop", "resume"]


# streams and tables


@dataclass(frozen=True)
class StoredRelation:
    """A stream or a table, as it was declared."""

    name: str
    kind: str
    """`stream` or `table`."""
    definition: dict[str, Any]
    """Where its rows come from, its columns, and the clauses of the declaration."""


@dataclass(frozen=True)
class Progress:
    """How far a stream has been read, and what became of its rows."""

    batch: int = -1
    latest: int | None = None
    """The latest event time seen."""
    watermark: int | None = None
    sealed: bool = False
    idle: bool = False
    clock: float = 0.0
    """When its last batch came."""
    rows: int = 0
    late: int = 0
    dead: int = 0
    offsets: str | None = None
    """What tells Spark's record of its last batch from any other; None where Spark keeps none."""


# queries


@dataclass(frozen=True)
class NewQuery:
    """A query that the catalog is to remember."""

    name: str
    sql: str
    streams: tuple[str, ...]
    """The streams that it reads."""
    schema: pa.Schema
    retain: int | None = None


@dataclass(frozen=True)
class StoredQuery:
    """A query as the catalog knows it."""

    id: int
    name: str
    sql: str
    streams: tuple[str, ...]
    """The streams that it reads."""
    schema: pa.Schema = field(compare=False)
    """The columns of its results; queries with equal ones share result files."""
    retain: int | None = None
    started: bool = False
    """Whether an epoch has had it."""
    sealed: bool = False
    complete_after: int | None = None
    """Windows that begin later than this hold all their rows: the stream ran before the query did."""
    quarantined: str | None = None
    """Why it no longer runs."""
    quarantined_epoch: int | None = None
    delivered: int | None = None
    """Its sink has had the answers of the epochs up to this one; None: it never had a sink."""
    answers: int = 0
    latest_end: int | None = None
    """The latest time of an answer: the end of its window, or its own."""
    entries: int = 0
    """Its share of the slices that it has, perhaps with others."""
    state_bytes: int = 0

    @property
    def schema_id(self) -> str:
        """A name for the result schema."""
        return schema_id(self.schema)

    @property
    def runs(self) -> bool:
        """Whether epochs still have it."""
        return not self.sealed and self.quarantined is None

    @property
    def retained_from(self) -> int | None:
        """Answers of this time and earlier are gone."""
        if self.retain is None or self.latest_end is None:
            return None
        return self.latest_end - self.retain


@dataclass(frozen=True)
class KeptAnswers:
    """Which answers of a query can still be asked for: those of a time later than `after` (None: however
    early) and not later than `latest_end` (None: there are none).

    Of changes of an answer from which something goes again, also those of a row that lives on after `after`.
    """

    query: int
    retain: int | None
    after: int | None
    latest_end: int | None
    can_end: bool = False
    """Whether they are such changes."""


@lru_cache(10_000)
def schema_id(schema: pa.Schema) -> str:
    """A name for a result schema: that of the directory of its files. What it declares of answers makes no
    difference to it."""
    return sha256(without_kind(schema).to_string().encode()).hexdigest()[:16]


# the plan


@dataclass(frozen=True)
class StoredMember:
    """A query in an operator."""

    query: int
    joined: int | None
    """The latest event time when it came: later rows are cut and lifted for it. None: all are."""
    after: int
    """The operator answers the query's evaluations later than this instant …"""
    until: int
    """… and not later than this one."""


@dataclass(frozen=True)
class StoredOperator:
    """An operator of a plan."""

    id: int
    ports: Sequence[tuple[str, str]]
    """For each port the stream that it reads, and how the rows on it end."""
    shared: bool
    """Whether it has, or had, several queries."""
    node: int | None
    """Which of the Spark tasks has its state; None: the driver."""
    price: Sequence[float]
    """What it was estimated to cost: with its share of the passes, its queries alone, its final work."""
    members: Sequence[StoredMember]


@dataclass(frozen=True)
class StoredInput:
    """A stream as a plan reads it: its passes, and by what they were planned, as values that JSON knows."""

    stream: str
    plan: Mapping[str, Any]


@dataclass(frozen=True)
class PlanChange:
    """What a plan has that the plan before it did not have so."""

    inputs: Sequence[StoredInput] = ()
    operators: Sequence[StoredOperator] = ()
    """The operators that are new, or other than in the plan before."""
    gone: Sequence[int] = field(default_factory=list)
    """The numbers of operators that are no more."""


@dataclass(frozen=True)
class OperatorSize:
    """How far an operator is, and how much it holds."""

    operator: int
    evaluated: int
    """Up to where it has been answered."""
    entries: int
    """In its slices."""
    bytes: int
    """In memory."""
    groups: int


# files


@dataclass(frozen=True)
class DataFile:
    """A file of the home. `owner`: a result schema, or a stream; `earliest` and `latest`: of its contents."""

    path: str
    kind: str
    owner: str
    first_epoch: int
    last_epoch: int
    rows: int
    earliest: int | None = None
    latest: int | None = None
    level: int = 0
    """How many times its rows have been compacted."""
    bytes: int | None = None
    checksum: int | None = None


@dataclass(frozen=True)
class DiskUse:
    """How many bytes and files there are of one kind."""

    kind: str
    bytes: int
    files: int


# epochs


@dataclass(frozen=True)
class PastEpoch:
    """What the catalog remembers of an epoch of a stream, for people."""

    clock: float
    rows: int
    seconds: float


@dataclass(frozen=True)
class Advance:
    """What an epoch did with one stream: where the stream is now, and the rows of this epoch."""

    progress: Progress
    batch: int | None
    rows: int = 0
    late: int = 0
    dead: int = 0
    answers: int = 0


@dataclass
class Epoch:
    """All that an epoch commits."""

    number: int
    clock: float
    seconds: float = 0.0
    streams: dict[str, Advance] = field(default_factory=dict)
    queries: list[StoredQuery] = field(default_factory=list)
    """As they are after it."""
    files: list[DataFile] = field(default_factory=list)
    unneeded: list[str] = field(default_factory=list)
    delivered: dict[int, int] = field(default_factory=dict)
    plan: PlanChange = field(default_factory=PlanChange)
    """How the plan has changed with it."""
    sizes: list[OperatorSize] = field(default_factory=list)
    """Of the operators that it had."""


# requests


@dataclass(frozen=True)
class Request:
    """To add a query, to drop one, or to take one out of quarantine."""

    id: int
    together: int
    """The number of the first of those that are done together."""
    kind: RequestKind
    name: str
    sql: str
    """The SELECT of a query to be added."""
    retain: int | None


@dataclass(frozen=True)
class Refusal:
    """Why a request was refused; with a place in its SQL, if there is one."""

    problem: str
    start: int = 0
    end: int = 0
    hint: str = ""
    companion: bool = False
    """Whether nothing was wrong with it, but with one that came together with it."""

    @classmethod
    def of(cls, error: Exception) -> Refusal:
        """The refusal that an error means."""
        if isinstance(error, StatementError):
            return cls(error.problem, error.start, error.end, error.hint)
        return cls(str(error) if isinstance(error, WindrowError) else f"{type(error).__name__}: {error}")

    def error(self, text: str, offset: int = 0) -> StatementError:
        """The error that the engine raised; its SQL begins at an offset of this text."""
        place = (self.start + offset, self.end + offset) if self.end else (0, 0)
        return StatementError(self.problem, text, *place, self.hint)


@dataclass(frozen=True)
class Answer:
    """What has become of a request: it waits, or it was answered, perhaps by a refusal."""

    name: str
    answered: bool
    refusal: Refusal | None
