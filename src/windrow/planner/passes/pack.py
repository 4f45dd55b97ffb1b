"""Which classes of queries are woven into which passes: the fewest Spark jobs that pay.

1. Classes over the same stream and tables are taken apart by how Spark groups their partials: one that
   must be sorted would have all others sorted too.
2. A class whose keys are among those of another is derived from its groups.
3. The predicates of a grouping are divided into *chunks* that cut rows into few cells: predicates over
   one column cut it into one more than they are, those over different columns multiply. Each chunk of
   each grouping is a `Copy` of the rows.
4. Copies are packed into passes by what a batch costs: another copy beside the others, or a job of its
   own. A pass that serves one class is that class's plain `Pass`.

What a batch shows to be otherwise is `Experience`: predicates that cut rows into more cells than their
columns suggest, and groupings with so many groups that deriving others from them does not pay.

Cost of planning: linear in the queries, and in the copies times the passes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

from windrow.planner.passes.base import COLUMN
from windrow.planner.passes.experience import BATCH, NO_EXPERIENCE
from windrow.planner.passes.grouped import Pass, share_passes
from windrow.planner.passes.woven import (
    COPIED,
    MOST_CELLS,
    PREDICATE,
    WORD_BITS,
    Copy,
    WovenPass,
    predicate_of,
    windows_of,
)
from windrow.slicing import cuts_for_pass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from windrow.aggregates import Partial
    from windrow.planner.passes.base import BatchPass, Demand
    from windrow.planner.passes.experience import Experience
    from windrow.slicing import Window

JOB, SCAN, AGGREGATE = 0.1, 100e-9, 4e-9
"""Seconds a job, and for each row: to read it, an aggregate of a copy. Measured with 2 M rows of Parquet on
two cores."""
MOST_CUTS = 2
"""So many times finer may a grouping be cut for another to be derived from it."""
MOST_COPIES, MOST_EXPRESSIONS, MOST_PREDICATES = 24, 48, 2 * WORD_BITS
"""Beyond these Spark's generated code slows down: measured, 64 aggregates take 1.7 times as long as 50,
and 252 predicates in 16 copies a sixth longer than 63 in 4 take four times."""
MOST_COLLECTED = 4_000_000
"""Groups that one pass may bring to the driver, some 150 bytes each: its memory is not Spark's to spill."""


def plan_passes(demands: Mapping[Any, Demand], experience: Experience = NO_EXPERIENCE) -> list[BatchPass]:
    """The passes that serve all who ask at the least cost; each of them is in as many as it needs."""
    shared = share_passes(demands)
    if not experience.weaves:
        return [some.by_experience(experience) for some in shared]
    woven: dict[tuple[object, ...], list[Pass]] = {}
    others: list[BatchPass] = []
    for some in shared:
        # Only a `Pass` has what copies are made of: partials that Spark groups, and cuts.
        if isinstance(some, Pass) and some.weavable:
            alike = some.demand.stream.name, some.demand.enrichments
            woven.setdefault(alike, []).append(some)
        else:
            others.append(some.by_experience(experience))
    return [*(made for strands in woven.values() for made in _weave(strands, experience)), *others]


def _weave(strands: Sequence[Pass], experience: Experience) -> list[Pass | WovenPass]:
    """The passes for classes over the same stream and tables."""
    if len(strands) == 1:
        return list(strands)
    kinds: dict[str, list[Pass]] = {}
    for strand in strands:
        for kind, own in _by_kind(strand).items():
            kinds.setdefault(kind, []).append(own)
    return [made for some in kinds.values() for made in _pack(_copies(some, experience), experience)]


def _by_kind(strand: Pass) -> dict[str, Pass]:
    """A class's pass for each way in which Spark groups its partials."""
    kinds: dict[str, list[Partial]] = {}
    for partial in strand.partials:
        kinds.setdefault(partial.aggregated_by, []).append(partial)
    if len(kinds) < 2:
        return dict.fromkeys(kinds or ["hashing"], strand)
    # All who ask in each: those of a tree share slices, so what is collected must be cut alike.
    return {kind: replace(strand, partials=tuple(partials)) for kind, partials in kinds.items()}


def _copies(strands: Sequence[Pass], experience: Experience) -> list[Copy]:
    """The copies of the rows that serve all classes, those with the same predicates side by side."""
    groupings: dict[frozenset[str], list[Pass]] = {}
    for strand in strands:
        groupings.setdefault(frozenset(strand.demand.keys), []).append(strand)
    hosted: dict[frozenset[str], list[Pass]] = {}
    for keys, host in _hosts(groupings, experience).items():
        hosted.setdefault(host, []).extend(groupings[keys])
    places = {sql: place for place, sql in enumerate(sorted(set(map(predicate_of, strands)), key=_by_column))}
    copies: dict[tuple[int, int], Copy] = {}
    for number, (host, served) in enumerate(hosted.items()):
        (full, *_) = groupings[host]
        columns = dict(zip(full.demand.keys, full.demand.key_types, strict=True))
        by_predicate: dict[str, list[Pass]] = {}
        for strand in served:
            by_predicate.setdefault(predicate_of(strand), []).append(strand)
        for chunk in _chunks(sorted(by_predicate, key=places.__getitem__), places, experience):
            own = tuple(strand for predicate in chunk for strand in by_predicate[predicate])
            first = places[chunk[0]]
            copies[first, number] = Copy(columns, own, first // WORD_BITS)
    return [copies[place] for place in sorted(copies)]


def _hosts(
    groupings: Mapping[frozenset[str], Sequence[Pass]], experience: Experience
) -> dict[frozenset[str], frozenset[str]]:
    """For each grouping the one that it is derived from; itself, if there is no finer one."""
    hosts: dict[frozenset[str], frozenset[str]] = {}
    having: dict[str | None, list[frozenset[str]]] = {}
    windows: dict[frozenset[str], tuple[Window, ...]] = {}
    for keys in sorted(groupings, key=len, reverse=True):
        own = windows_of(groupings[keys])
        hosts[keys] = keys
        # Only groupings with the same first key can be finer; those without keys fit in any.
        for finer in having.get(min(keys, default=None), ()):
            both = tuple(dict.fromkeys((*windows[finer], *own)))
            # The groups of the finer one must not become many more, cut at the edges of both.
            if keys <= finer and cuts_for_pass(both).rate <= MOST_CUTS * cuts_for_pass(windows[finer]).rate:
                hosts[keys], windows[finer] = finer, both
                break
        else:
            if keys not in experience.crowded:
                windows[keys] = own
                for key in (*keys, None):
                    having.setdefault(key, []).append(keys)
    return hosts


def _by_column(predicate: str) -> tuple[list[str], str]:
    return sorted(set(COLUMN.findall(predicate))), predicate


def _chunks(predicates: Iterable[str], places: Mapping[str, int], experience: Experience) -> list[list[str]]:
    """Predicates in their order, divided where they would cut rows into too many cells, or a word ends."""
    chunks: list[list[str]] = []
    columns: Counter[str] = Counter()
    for predicate in predicates:
        of = [predicate] if predicate in experience.scattered else _by_column(predicate)[0]
        columns.update(of)
        cells = prod(count + 1 for count in columns.values())
        fits = chunks and places[chunks[-1][0]] // WORD_BITS == places[predicate] // WORD_BITS
        if fits and min(cells, 1 << len(chunks[-1]) + 1) <= MOST_CELLS:
            chunks[-1].append(predicate)
        else:
            chunks.append([predicate])
            columns = Counter(of)
    return chunks


@dataclass
class _Packed:
    """The copies of a pass that is being put together."""

    copies: list[Copy] = field(default_factory=list)
    predicates: set[str] = field(default_factory=set)
    expressions: set[str] = field(default_factory=set)

    def seconds_with(self, copy: Copy, expressions: set[str]) -> float | None:
        """What a batch costs with one more copy; None if that would be more than Spark takes well."""
        copies = len(self.copies) + 1
        predicates = len(self.predicates.union(copy.predicates))
        computed = len(self.expressions | expressions)
        over = predicates > MOST_PREDICATES or computed > MOST_EXPRESSIONS or copies > MOST_COPIES
        return None if over and self.copies else _seconds(copies, predicates, computed)

    def add(self, copy: Copy, expressions: set[str]) -> None:
        self.copies.append(copy)
        self.predicates.update(copy.predicates)
        self.expressions |= expressions

    @property
    def seconds(self) -> float:
        return _seconds(len(self.copies), len(self.predicates), len(self.expressions))


def _seconds(copies: int, predicates: int, expressions: int) -> float:
    return JOB + BATCH * (SCAN + predicates * PREDICATE + copies * (COPIED + expressions * AGGREGATE))


def _pack(copies: Iterable[Copy], experience: Experience) -> list[Pass | WovenPass]:
    """Passes of copies that are cheaper together than apart, as far as the driver can take them."""
    packed: list[_Packed] = []
    most_copies = max(1, min(MOST_COPIES, MOST_COLLECTED // experience.groups))
    for copy in copies:
        expressions = {e for strand in copy.strands for p in strand.partials for e in p.expressions}
        alone = _seconds(1, len(copy.predicates), len(expressions))
        best, least = _Packed(), alone
        for some in packed:
            if len(some.copies) >= most_copies:
                continue
            together = some.seconds_with(copy, expressions)
            if together is not None and together - some.seconds < least:
                best, least = some, together - some.seconds
        if not best.copies:
            packed.append(best)
        best.add(copy, expressions)
    return [_made(some.copies) for some in packed]


def _made(copies: Sequence[Copy]) -> Pass | WovenPass:
    strands = [strand for copy in copies for strand in copy.strands]
    return strands[0] if len(strands) == 1 else WovenPass(tuple(copies))
