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

Cost: see `pack.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns import (
    COPY,
    FATE,
    INSTANT,
    LATE,
    LATEST,
    LINEAGE,
    ROWS,
    SLICE,
    START,
    WORD,
    key_name,
    quoted,
)
from windrow.planner.passes.base import BatchPass, counted_groups, with_key_types, without_refused
from windrow.planner.passes.bounds import instants_sql
from windrow.planner.passes.grouped import Pass
from windrow.slicing import cuts_for_pass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from windrow.aggregates import Partial
    from windrow.planner.passes.base import Demand, Tally
    from windrow.planner.passes.bounds import Bounds
    from windrow.planner.passes.experience import Experience
    from windrow.slicing import Cuts, Window

ALL_ROWS = "true"
"""The predicate of a query without one."""
WORD_BITS = 63
"""Predicates in a BIGINT; its sign is left alone."""
PREDICATE, COPIED = 5e-9, 40e-9
"""Seconds a row for a predicate, and for a copy in its group: measured with 2 M rows of Parquet on two
cores."""
CROWDED = 4
"""Fewer rows than this in a group make it no smaller than the rows are."""
MOST_CELLS = 64
"""Into so many cells the predicates of a copy may cut the rows."""


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
class WovenPass(BatchPass):
    """One scan of a batch for many classes over the same stream and tables."""

    copies: tuple[Copy, ...]

    @cached_property
    def strands(self) -> tuple[Pass, ...]:
        """The pass of each class, which this one replaces."""
        return tuple(strand for copy in self.copies for strand in copy.strands)

    @cached_property
    def demands(self) -> dict[Any, Demand]:  # type: ignore[override]
        """All that it serves, by who asks."""
        return {who: demand for strand in self.strands for who, demand in strand.demands.items()}

    @property
    def sees_every_row(self) -> bool:
        """Whether it can count the rows and find the latest instant on the side."""
        return not self.demand.enrichments

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
        demand = self.demand
        keys = [f"{sql} AS {key_name(i)}" for i, sql in enumerate(self._keys())]
        items = [COPY, f"{START} AS {SLICE}", LINEAGE, *keys]
        items += [f"{sql} AS _p{i}" for i, sql in enumerate(self.expressions.values())]
        counts = f"{FATE} > {LATE}L"
        instants, good = instants_sql(demand.stream), bounds.good(demand.stream)
        source = f"SELECT *, {INSTANT} AS {FATE} FROM ({instants}) WHERE {good}"
        if self.sees_every_row:
            items += [f"max({INSTANT}) FILTER (WHERE {counts}) AS {LATEST}", f"count(*) AS {ROWS}"]
            fate = bounds.fate(demand.stream, INSTANT)
            source = f"SELECT *, {fate} AS {FATE} FROM ({instants})"
        words = ", ".join(
            f"CASE WHEN {counts} THEN {_bits(predicates)} ELSE 0L END AS {WORD}{number}"
            for number, predicates in self.words.items()
        )
        copies = ", ".join(map(str, range(len(self.copies))))
        marks = f"{self._lineage()} AS {LINEAGE}, {self._slice()} AS {START}"
        lines = [f"SELECT {', '.join(items)}", f"FROM ({source}) AS {quoted(demand.stream.name)}"]
        lines += [enrichment.join for enrichment in demand.enrichments]
        lines += [
            f"CROSS JOIN LATERAL (SELECT {words})",
            f"CROSS JOIN LATERAL explode(array({copies})) AS _windrow_copies({COPY})",
            f"CROSS JOIN LATERAL (SELECT {marks})",
            # The first copy has every row, for the tally.
            f"WHERE {COPY} = 0 OR {LINEAGE} != 0L" if self.sees_every_row else f"WHERE {LINEAGE} != 0L",
            f"GROUP BY {', '.join(str(i + 1) for i in range(3 + len(keys)))}",
        ]
        return "\n".join(lines)

    def counted(self, collected: pa.Table) -> tuple[pa.Table, Tally]:
        """What was collected, without the two columns that count, and the tally of the batch: the first copy
        has every row."""
        tally = counted_groups(collected.filter(pc.equal(collected[COPY], 0)))
        return without_refused(collected.drop_columns([LATEST, ROWS]), tally)

    def tables(self, collected: pa.Table) -> Iterator[tuple[Sequence[Any], pa.Table]]:
        """What was collected for each class, as its own pass would name it."""
        copies = collected[COPY].to_numpy()
        for number, copy in enumerate(self.copies):
            own = collected.filter(pa.array(copies == number))
            lineage = own[LINEAGE].to_numpy()
            places = dict(zip(copy.keys, self._places(copy), strict=True))
            for strand in copy.strands:
                has = (lineage & self._mask(copy, [strand])) != 0
                keys, expressions = strand.demand.keys, strand.expressions
                table = own.select([SLICE, *(key_name(places[key]) for key in keys), *expressions])
                table = table.filter(pa.array(has)).rename_columns([SLICE, *keys, *expressions])
                yield tuple(strand.demands), with_key_types(table, strand.demand)

    def cuts_by_demand(self) -> dict[Any, Cuts]:
        """The cuts of the copy in which each of those who asked is served."""
        return {who: copy.cuts for copy in self.copies for strand in copy.strands for who in strand.demands}

    def row_seconds(self, a_row: float) -> float:
        """What a row costs with its copies and predicates, where in a plain pass it costs so much."""
        predicates = {sql for copy in self.copies for sql in copy.predicates}
        return a_row + (len(self.copies) - 1) * COPIED + (len(predicates) - 1) * PREDICATE

    def learned(self, collected: pa.Table, tally: Tally | None, experience: Experience) -> Experience:
        """Whether copies have nearly as many groups as rows, or their predicates cut them into many cells."""
        if tally is None:
            return experience
        copies, lineage = collected[COPY].to_numpy(), collected[LINEAGE].to_numpy()
        groups = np.bincount(copies[lineage != 0], minlength=len(self.copies))
        scattered, crowded = set(experience.scattered), set(experience.crowded)
        for number in np.flatnonzero(groups * CROWDED > tally.rows):
            copy = self.copies[number]
            if any(len(strand.demand.keys) < len(copy.keys) for strand in copy.strands):
                crowded.add(frozenset(copy.keys))
            if len(np.unique(lineage[copies == number])) > MOST_CELLS:
                scattered.update(copy.predicates)
        most = 1 << int(groups.max(initial=1)).bit_length()
        # By powers of two, and not for every smaller batch: other passes are other code for Spark to compile.
        settled = most <= experience.groups <= 16 * most
        return replace(
            experience,
            scattered=frozenset(scattered),
            crowded=frozenset(crowded),
            groups=experience.groups if settled else most,
        )

    @property
    def record(self) -> dict[str, Any]:
        """The copies, and in each of them who is served by which partials."""
        copies = []
        for copy in self.copies:
            strands = [{"for": list(strand.demands), **strand.record} for strand in copy.strands]
            # The keys in full: they may be those of a class that is served by another copy alone.
            copies.append({"keys": list(copy.keys), "word": copy.word, "strands": strands})
        return {"kind": "woven", "copies": copies}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], demands: Mapping[Any, Demand]) -> WovenPass:
        """The pass that a record tells of; the types of keys are those that the demands say."""
        types = {
            key: of_type
            for demand in demands.values()
            for key, of_type in zip(demand.keys, demand.key_types, strict=True)
        }
        return cls(
            tuple(
                Copy(
                    {key: types[key] for key in copy["keys"]},
                    tuple(Pass.from_record(strand, demands) for strand in copy["strands"]),
                    int(copy["word"]),  # it becomes a part of SQL
                )
                for copy in record["copies"]
            )
        )

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
                mask = self._mask(copy, [strand for strand in copy.strands if key in strand.demand.keys])
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
    return strand.demand.where or ALL_ROWS


def windows_of(strands: Iterable[Pass]) -> tuple[Window, ...]:
    """The windows of classes, each once."""
    demands = (demand for strand in strands for demand in strand.demands.values())
    return tuple(dict.fromkeys(window for demand in demands for window in demand.time_windows))


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
