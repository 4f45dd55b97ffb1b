"""The different values of the rows that groups have, with their counts: rows come and go, and what aggregates
ask of the counts is answered at each step.

Cost: as `Frequencies` has it. Space: an entry for each value of each group; a number for each value, made
anew when most values have gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.contents import OfCounts
from windrow.aggregates.questions import Distinct, DistinctTotals
from windrow.final.values.changing_frequencies import ChangingFrequencies, Entries
from windrow.operators.aggregate.value_numbers import numbers_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Aggregate
    from windrow.aggregates.contents import Counts

    Array = np.ndarray[Any, Any]

FEW = 10_000
"""So many values that nobody has any more are not worth being numbered anew."""


class CountedRows:
    """The running state of one `Counts` over rows that come and go."""

    def __init__(self, contents: Counts, aggregates: Sequence[OfCounts]) -> None:
        self.contents = contents
        self._aggregates = aggregates
        self._questions = list(dict.fromkeys(q for item in aggregates for q in item.questions))
        self._ordered = any(not isinstance(q, Distinct | DistinctTotals) for q in self._questions)
        self._numbers = numbers_for(contents.of_type)
        self._frequencies = ChangingFrequencies(self._questions)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return int(self._frequencies.bytes + self._numbers.values.nbytes)

    def enter(self, groups: Array, values: pa.Array) -> Array:
        """The number of each row's group and value, held by the row; -1 where the value is NULL."""
        pairs = np.full(len(values), -1, np.int32)
        given = pc.is_valid(values).to_numpy(zero_copy_only=False)
        codes = self._numbers.encode(values.drop_null())
        pairs[given] = self._frequencies.use(groups[given], codes)
        return pairs

    def values(self, pairs: Array) -> pa.Array:
        """The values of such numbers; NULL for -1."""
        given = pairs >= 0
        values = self._numbers.decode(self._frequencies.codes(pairs[given]))
        return values if given.all() else values.take(pa.array(np.cumsum(given) - 1, mask=~given))

    def groups(self, pairs: Array) -> Array:
        """The groups of such numbers."""
        return self._frequencies.keys(pairs)

    def change(self, come: Entries, gone: Entries, answers_from: Array, groups: Array) -> list[Any]:
        """What is found for the groups that are answered at each step, after those have come and gone that
        do."""
        ranks = self._numbers.ranks() if self._ordered else None
        weights = None
        if DistinctTotals() in self._questions:
            made = (item.weights(self._numbers.values) for item in self._aggregates)
            weights = next(matrix for matrix in made if matrix is not None)
        return self._frequencies.change(come, gone, answers_from, groups, ranks, weights)

    def answers(self, aggregate: Aggregate, found: Sequence[Any]) -> pa.Array:
        """The answers of one aggregate, from what was found."""
        assert isinstance(aggregate, OfCounts)
        own = [found[self._questions.index(question)] for question in aggregate.questions]
        return aggregate.lower([*own, self._numbers.decode])

    def let_go(self, pairs: Array) -> Array | None:
        """Rows hold these numbers no longer; gives the new ones of the others, by the old, if they have
        changed."""
        moved = self._frequencies.let_go(pairs)
        if len(self._numbers) > FEW + 4 * self._frequencies.used:
            self._number_anew()
        return moved

    def _number_anew(self) -> None:
        """Forget the values that no pair has."""
        held = np.unique(self._frequencies.codes(np.arange(self._frequencies.used)))
        moved = np.full(len(self._numbers), -1, np.int32)
        fresh = numbers_for(self.contents.of_type)
        moved[held] = fresh.encode(self._numbers.decode(held))
        self._numbers = fresh
        self._frequencies.recode(moved)
