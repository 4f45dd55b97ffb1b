"""One pass for queries with different predicates and groupings: each row is read once for all of them.

Queries of one *class* have the same WHERE and GROUP BY; alone they take one `Pass`. A woven pass serves
many classes over the same stream and tables:

1. A row's *lineage* is computed once: a bit for each predicate that holds (NULL does not), 63 a word.
2. The row is copied once for each grouping. What a copy is grouped by is its slice, the keys of its
   grouping, and the part of the lineage that the classes of this grouping ask for.
3. A class is handed the groups of its copy whose lineage has its bit, with its own keys: a class with
   fewer keys than its copy gets several groups for one key, and its operator merges them anyway.

The lineages cut the rows into disjoint cells, and every predicate is a union of cells. So a query whose
predicate is a disjunction of others' terms, or overlaps with them in any way, is answered from the same
partials as they are, and no row is counted twice, whatever the aggregate: the disjoint cover that rules
SS4, CS6 and CS7 ask for exists by construction (Golab 2006, §8.3.3), without a look into the predicates.

Copies are made by `explode` and a CASE for each key column, not by GROUPING SETS: those carry all keys of
all sets in every copy, which was measured to take three times as long for 20 sets. It also leaves no doubt
about NULL keys, which are values like any other.

The values of a row that no class with a partial or key wants are not looked at, so that they cannot fail.

Cost: see `pack_passes.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.aggregates.base import INSTANT
from windrow.logical import key_name, quoted
from windrow.operators.aggregate.window_aggregate import SLICE
from windrow.planner.passes.bounds import FATE, LATE, LATEST, ROWS, instants_sql
from windrow.slicing import RowWindow, cuts_for_pass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from windrow.aggregates import Partial
    from windrow.logical import AggregateQuery
    from windrow.planner.passes.bounds import Bounds
    from windrow.planner.passes.grouped import Pass
    from windrow.slicing import Cuts, Window

COPY, START, LINEAGE, WORD = "_windrow_copy", "_windrow_start", "_windrow_lineage", "_windrow_word"
ALL_ROWS = "true"
"""The predicate of a query without one."""
WORD_BITS = 63
"""Predicates in a BIGINT; its sign is left alone."""


@dataclass(frozen=True)
class Copy:
    """A grouping with some of the predicates that are asked of it: each row is grouped once for these."""

    keys: Mapping[str, pa.DataType]
    strands: tuple[Pass, ...]
    """The passes of the classes that it replaces; their keys are among these."""
    word: int = 0
    """All its predicates are in one word of the lineage, and copies with the same number share it."""

    @cached_property
    def predicates(self) -> tuple[str, ...]:
        """Of its classes, each once."""
        return tuple(dict.fromkeys(map(predicate_of, self.strands)))

    @cached_property
    def cuts(self) -> Cuts:
        """Fine enough for the windows of all its classes."""
        return cuts_for_pass(windows_of(self.strands))


@dataclass(frozen=True)
class WovenPass:
    """One scan of a batch for many classes of queries over the same stream and tables."""

    copies: tuple[Copy, ...]

    @cached_property
    def strands(self) -> tuple[Pass, ...]:
        """The pass of each class, which this one replaces."""
        return tuple(strand for copy in self.copies for strand in copy.strands)

    @cached_property
    def queries(self) -> dict[str, AggregateQuery]:
        """All that it serves, by name."""
        return {name: query for strand in self.strands for name, query in strand.queries.items()}

    @property
    def query(self) -> AggregateQuery:
        """Any of the queries: all have the same stream and tables."""
        return self.strands[0].query

    @property
    def sees_every_row(self) -> bool:
        """Whether it can count the rows and find the latest instant on the side."""
        return not self.query.enrichments

    @cached_property
    def words(self) -> dict[int, list[str]]:
        """The predicates, by the word of the lineage in which they have a bit, in the order of the bits."""
        words: dict[int, dict[str, None]] = {}
        for copy in self.copies:
            words.setdefault(copy.word, {}).update(dict.fromkeys(copy.predicates))
        assert all(len(word) <= WORD_BITS for word in words.values())
        return {number: list(word) for number, word in words.items()}

    @cached_property
    def slots(self) -> list[pa.DataType]:
        """The key columns that are collected: keys of different copies share one if their types allow."""
        slots: list[pa.DataType] = []
        for copy in self.copies:
            free = list(slots)
            for of_type in copy.keys.values():
                if of_type in free:
                    free.remove(of_type)
                else:
                    slots.append(of_type)
        return slots

    @cached_property
    def expressions(self) -> dict[str, str]:
        """The aggregates that Spark computes, each once: Spark SQL by the name of the column."""
        users: dict[Partial, list[list[Pass]]] = {}
        for number, copy in enumerate(self.copies):
            for strand in copy.strands:
                for partial in strand.partials:
                    users.setdefault(partial, [[] for _ in self.copies])[number].append(strand)
        guarded: dict[str, str] = {}
        for partial, strands in users.items():
            wanted = partial.of_rows(self._wanted(strands))
            guarded |= dict(zip(partial.expressions, wanted.expressions, strict=True))
        return guarded

    @property
    def columns(self) -> list[str]:
        """The names of the collected columns, in order; `tables` takes them apart."""
        side = [LATEST, ROWS] if self.sees_every_row else []
        slots = [key_name(i) for i in range(len(self.slots))]
        return [COPY, SLICE, LINEAGE, *slots, *self.expressions, *side]

    def sql(self, bounds: Bounds) -> str:
        """The SELECT that lifts and combines partials in the JVM."""
        query = self.query
        keys = [f"{sql} AS {key_name(i)}" for i, sql in enumerate(self._keys())]
        items = [COPY, f"{START} AS {SLICE}", LINEAGE, *keys]
        items += [f"{sql} AS _p{i}" for i, sql in enumerate(self.expressions.values())]
        counts = f"{FATE} > {LATE}L"
        instants, good = instants_sql(query.stream), bounds.good(query.stream)
        source = f"SELECT *, {INSTANT} AS {FATE} FROM ({instants}) WHERE {good}"
        if self.sees_every_row:
            items += [f"max({INSTANT}) FILTER (WHERE {counts}) AS {LATEST}", f"count(*) AS {ROWS}"]
            fate = bounds.fate(query.stream, INSTANT)
            source = f"SELECT *, {fate} AS {FATE} FROM ({instants})"
        words = ", ".join(
            f"CASE WHEN {counts} THEN {_bits(predicates)} ELSE 0L END AS {WORD}{number}"
            for number, predicates in self.words.items()
        )
        copies = ", ".join(map(str, range(len(self.copies))))
        marks = f"{self._lineage()} AS {LINEAGE}, {self._slice()} AS {START}"
        lines = [f"SELECT {', '.join(items)}", f"FROM ({source}) AS {quoted(query.stream.name)}"]
        lines += [enrichment.join for enrichment in query.enrichments]
        lines += [
            f"CROSS JOIN LATERAL (SELECT {words})",
            f"CROSS JOIN LATERAL explode(array({copies})) AS _windrow_copies({COPY})",
            f"CROSS JOIN LATERAL (SELECT {marks})",
            # The first copy has every row, for the tally.
            f"WHERE {COPY} = 0 OR {LINEAGE} != 0L" if self.sees_every_row else f"WHERE {LINEAGE} != 0L",
            f"GROUP BY {', '.join(str(i + 1) for i in range(3 + len(keys)))}",
        ]
        return "\n".join(lines)

    def tables(self, collected: pa.Table) -> Iterator[tuple[Pass, pa.Table]]:
        """What was collected for each class, as its own pass would name it."""
        copies = collected[COPY].to_numpy()
        for number, copy in enumerate(self.copies):
            own = collected.filter(pa.array(copies == number))
            lineage = own[LINEAGE].to_numpy()
            places = dict(zip(copy.keys, self._places(copy), strict=True))
            for strand in copy.strands:
                has = (lineage & self._mask(copy, [strand])) != 0
                keys, expressions = strand.query.keys, strand.expressions
                table = own.select([SLICE, *(key_name(places[key]) for key in keys), *expressions])
                yield strand, table.filter(pa.array(has)).rename_columns([SLICE, *keys, *expressions])

    def _mask(self, copy: Copy, strands: Sequence[Pass]) -> int:
        """The bits of the predicates of some classes."""
        places = self._places_of_bits[copy.word]
        return sum(1 << places[predicate] for predicate in {predicate_of(strand) for strand in strands})

    @cached_property
    def _places_of_bits(self) -> dict[int, dict[str, int]]:
        return {number: {sql: i for i, sql in enumerate(word)} for number, word in self.words.items()}

    def _lineage(self) -> str:
        """The word of a copy, without the predicates that its grouping is not asked for."""
        word = _by_copy([f"{WORD}{copy.word}" for copy in self.copies])
        return f"{word} & {_looked_up([self._mask(copy, copy.strands) for copy in self.copies])}"

    def _slice(self) -> str:
        cut = _by_copy([copy.cuts.slice_start_sql(FATE) for copy in self.copies])
        return f"CASE WHEN {FATE} > {LATE}L THEN {cut} ELSE {FATE} END" if self.sees_every_row else cut

    def _wanted(self, strands: Sequence[Sequence[Pass]]) -> str:
        """The condition for a row, in a copy, to be of one of the classes given for that copy."""
        masks = [self._mask(copy, some) for copy, some in zip(self.copies, strands, strict=True)]
        if all(mask == self._mask(copy, copy.strands) for mask, copy in zip(masks, self.copies, strict=True)):
            return f"{LINEAGE} != 0L"
        return f"{LINEAGE} & {_looked_up(masks)} != 0L"

    def _keys(self) -> list[str]:
        """What each slot holds: the key of the copy, where a class of the row has that key."""
        branches: list[list[str]] = [[] for _ in self.slots]
        for number, copy in enumerate(self.copies):
            for key, place in zip(copy.keys, self._places(copy), strict=True):
                mask = self._mask(copy, [strand for strand in copy.strands if key in strand.query.keys])
                branches[place].append(f"WHEN {COPY} = {number} AND {LINEAGE} & {mask}L != 0L THEN {key}")
        return [f"CASE {' '.join(cases)} END" for cases in branches]

    def _places(self, copy: Copy) -> list[int]:
        """The slots of a copy's keys."""
        free = list(enumerate(self.slots))
        places = []
        for of_type in copy.keys.values():
            slot = next(slot for slot in free if slot[1] == of_type)
            free.remove(slot)
            places.append(slot[0])
        return places


def predicate_of(strand: Pass) -> str:
    """The predicate of a class, as Spark SQL."""
    return strand.query.where or ALL_ROWS


def windows_of(strands: Iterable[Pass]) -> tuple[Window, ...]:
    """The windows of classes, each once."""
    windows = dict.fromkeys(query.window for strand in strands for query in strand.queries.values())
    return tuple(window for window in windows if not isinstance(window, RowWindow))


def _bits(predicates: Sequence[str]) -> str:
    return " | ".join(f"IF({sql}, {1 << place}L, 0L)" for place, sql in enumerate(predicates))


def _by_copy(choices: Sequence[str]) -> str:
    """The expression of a copy, where they differ."""
    copies: dict[str, list[int]] = {}
    for number, sql in enumerate(choices):
        copies.setdefault(sql, []).append(number)
    *some, last = copies
    if not some:
        return last
    cases = (f"WHEN {COPY} IN ({', '.join(map(str, copies[sql]))}) THEN {sql}" for sql in some)
    return f"CASE {' '.join(cases)} ELSE {last} END"


def _looked_up(masks: Sequence[int]) -> str:
    """The mask of a copy."""
    if len(set(masks)) == 1:
        return f"{masks[0]}L"
    return f"element_at(array({', '.join(f'{mask}L' for mask in masks)}), {COPY} + 1)"
