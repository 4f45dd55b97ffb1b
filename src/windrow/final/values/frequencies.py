"""Exact answers about the different values in a window, from how often each slice has each value.

The counts of a slice are added when it enters a window and subtracted when it leaves. Pairs (key,
value) whose count is zero are purged now and then; new ones are put in their places before the next
evaluation. All arithmetic is of integers, so that a new object with the entries held goes on to the
same answers.

With d different values of a key, and per range:

| question | an entry | an answer | space |
|---|---|---|---|
| Distinct, DistinctTotals | O(1) | O(1) | a count a pair |
| Quantile | O(log d) | O(log d) | and a tree of sums |
| Commonest(k), OverRest (k found), Each (k = d) | O(log d) | O(k log d) | and a tree of maxima |

New pairs cost a pass over all pairs for each call of `slide` which has some and whose questions need trees.

Source: Golab, Garg & Özsu, On Indexing Sliding Windows over Online Data Streams, 2004: a histogram of
the window as its index (§4), deferred purging (§4.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from windrow.aggregates.questions import Commonest, Distinct, DistinctTotals, Each, OverRest, Quantile
from windrow.final.growing_array import GrowingArray
from windrow.final.values.frequency_trees import DISTINCT, OTHERS, TOTAL, TOTALS, Layout, follow
from windrow.final.values.pair_numbers import PairNumbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates.questions import Question
    from windrow.final.steps import Steps
    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]


class Around(NamedTuple):
    """Of each answer, the codes of the values on both sides of a position, and how far it is from `low`.

    If there are no values, the codes are -1.
    """

    total: Array
    low: Array
    high: Array
    fraction: Array


class Listed(NamedTuple):
    """Codes and counts of values; those of answer i are the ones from offsets[i] to offsets[i + 1]."""

    offsets: Array
    codes: Array
    counts: Array


class Frequent(NamedTuple):
    """As `Listed`, and the rest that each answer's values were compared with."""

    offsets: Array
    codes: Array
    counts: Array
    rest: Array


if TYPE_CHECKING:
    Answers = Array | Around | Listed | Frequent  # Distinct: a number an answer, DistinctTotals: a row


class Frequencies:
    """The values in the windows of all keys, for ranges that end together, in ascending order.

    Three slices of one key: value 0 twice, then values 0 and 1, then value 1 three times.

    >>> from windrow.final.steps import Liveness
    >>> from windrow.slicing import Window
    >>> windows = [Window(range=2, slide=1)]
    >>> starts, keys = np.array([0, 1, 1, 2]), np.zeros(4, np.int32)
    >>> liveness, frequencies = Liveness(windows), Frequencies(windows, [Distinct(), Commonest(1)])
    >>> liveness.grow(1)
    >>> frequencies.append(starts, keys, np.array([0, 0, 1, 1]), np.array([2, 1, 1, 3]))
    >>> for steps in liveness.evaluate(starts, keys, 0, 0, 3):
    ...     distinct, mode = frequencies.slide(steps, ranks=np.arange(2))[0]
    >>> distinct.tolist(), mode.codes.tolist(), mode.counts.tolist()
    ([1, 2, 2], [0, 0, 1], [2, 3, 4])
    """

    def __init__(self, windows: Sequence[Window], questions: Sequence[Question]) -> None:
        self.windows = windows
        self.questions = questions
        self._quantiles = np.array([q.p for q in questions if isinstance(q, Quantile)], np.float64)
        lists = [_listing(q) for q in questions if isinstance(q, Commonest | OverRest | Each)]
        self._lists = np.array(lists, np.int64).reshape(-1, 3)
        self._starts = GrowingArray(np.empty(0, np.int64))
        self._pairs = GrowingArray(np.empty(0, np.int32))
        self._counts = GrowingArray(np.empty(0, np.int64))
        self._numbers = PairNumbers()
        self._layout = Layout.empty()
        ranges = len(windows)
        self._cursor = np.zeros((ranges, 2), np.int64)  # entries evicted, and pushed
        self._count = np.zeros((ranges, 0), np.int64)  # per pair
        self._of_key = np.zeros((ranges, 0, TOTALS), np.int64)
        self._sums = self._maxima = np.zeros((ranges, 0), np.int64)

    @property
    def entries(self) -> int:
        """How many entries are held."""
        return len(self._starts.view)

    @property
    def bytes(self) -> int:
        """What the entries and all that is kept about them take."""
        entries = (self._starts.view, self._pairs.view, self._counts.view)
        state = (*self._layout, self._count, self._of_key, self._sums, self._maxima)
        return self._numbers.bytes + sum(array.nbytes for array in (*entries, *state))

    def append(self, starts: Array, keys: Array, codes: Array, counts: Array) -> None:
        """Add how often closed slices have values, in slice order; the code REST is for no value."""
        self._starts.append(starts)
        self._pairs.append(self._numbers.use(keys, codes))
        self._counts.append(counts)
        self._reserve(keys)

    def slide(self, steps: Steps, ranks: Array | None, weights: Array | None = None) -> list[list[Answers]]:
        """By range, then by question, what belongs to each answer of the steps.

        `ranks[code]` is the place of a value among all that are known; new values may move the old
        ones, but never past each other. `weights[code]` is the row that DistinctTotals adds up.
        """
        weights = np.ascontiguousarray(np.zeros((0, 0)) if weights is None else weights, np.int64)
        self._reserve(steps.keys(-1), weights.shape[1])
        if len(self._quantiles) or len(self._lists):
            self._arrange(ranks)
        starts = self._starts.view
        push_to = np.searchsorted(starts, steps.ends)
        evict_to = [np.searchsorted(starts, steps.ends - window.range) for window in self.windows]
        answers = [self._follow(r, steps, push_to, evict_to[r], weights) for r in range(len(self.windows))]
        self._drop(int(evict_to[-1][-1]))
        return answers

    def held(self) -> tuple[Array, Array, Array, Array]:
        """Starts, keys, codes and counts of the entries that are still in the longest window."""
        pairs = self._pairs.view
        return self._starts.view, self._numbers.keys[pairs], self._numbers.codes[pairs], self._counts.view

    def _reserve(self, keys: Array, columns: int = 0) -> None:
        """Make room for the pairs, for these keys, and for so many totals of weights."""
        _, pairs = self._count.shape
        if self._numbers.room > pairs:
            self._count = np.pad(self._count, ((0, 0), (0, self._numbers.room - pairs)))
        _, room, width = self._of_key.shape
        more_keys, more_columns = int(keys.max(initial=-1)) + 1 - room, TOTALS + columns - width
        if more_keys > 0 or more_columns > 0:
            more = ((0, 0), (0, max(more_keys, room) if more_keys > 0 else 0), (0, max(more_columns, 0)))
            self._of_key = np.pad(self._of_key, more)

    def _arrange(self, ranks: Array | None) -> None:
        """Give new pairs their places in the trees."""
        if len(self._layout.leaf) == self._numbers.known:
            return
        assert ranks is not None, "these questions need the order of the values"
        self._layout = self._layout.extended(self._numbers, ranks)
        if len(self._quantiles):
            self._sums = self._layout.plant(self._numbers, self._count, sums=True)
        if len(self._lists):
            self._maxima = self._layout.plant(self._numbers, self._count, sums=False)

    def _follow(self, r: int, steps: Steps, push_to: Array, evict_to: Array, weights: Array) -> list[Answers]:
        answers = len(steps.keys(r))
        facts = np.empty((answers, self._of_key.shape[2]), np.int64)
        around = np.empty((2, len(self._quantiles), answers), np.int32)
        fraction = np.empty((len(self._quantiles), answers), np.float64)
        offsets = np.zeros((len(self._lists), answers + 1), np.int64)
        codes, counts = follow(
            self._pairs.view, self._counts.view, evict_to, push_to, self._cursor[r],
            steps.answers_from[r], steps.answer_keys[r], self._quantiles, self._lists,
            self._numbers.keys, self._numbers.codes, weights, *self._layout,
            self._count[r], self._of_key[r], self._sums[r], self._maxima[r],
            facts, around, fraction, offsets,
        )  # fmt: skip
        quantiles = iter(zip(*around, fraction, strict=True))
        lists = (
            (offsets[q], codes[q][: offsets[q, -1]], counts[q][: offsets[q, -1]]) for q in range(len(offsets))
        )
        by_question: list[Answers] = []
        for question in self.questions:
            match question:
                case Distinct():
                    by_question.append(facts[:, DISTINCT])
                case DistinctTotals():
                    by_question.append(facts[:, TOTALS:])
                case Quantile():
                    by_question.append(Around(facts[:, TOTAL], *next(quantiles)))
                case OverRest():
                    by_question.append(Frequent(*next(lists), facts[:, OTHERS]))
                case _:
                    by_question.append(Listed(*next(lists)))
        return by_question

    def _drop(self, rows: int) -> None:
        self._numbers.release(self._pairs.view[:rows])
        for array in (self._starts, self._pairs, self._counts):
            array.drop(rows)
        self._cursor -= rows
        if self._numbers.worth_purging:
            self._purge()

    def _purge(self) -> Array:
        """Forget the pairs that no entry held has. Returns the new numbers of the others, by the old ones."""
        moved = np.empty(self._numbers.known, np.int32)
        kept = self._numbers.purge()
        moved[kept] = np.arange(len(kept))
        self._pairs.view[:] = moved[self._pairs.view]
        self._count = self._count.take(kept, axis=1)  # in C order, for which the kernels are compiled
        self._layout = Layout.empty()
        return moved


def _listing(question: Commonest | OverRest | Each) -> tuple[int, bool, bool]:
    """At most how many, whether the greatest first, and whether only those over the rest."""
    most = question.k if isinstance(question, Commonest) else np.iinfo(np.int64).max
    return most, not isinstance(question, Each), isinstance(question, OverRest)
