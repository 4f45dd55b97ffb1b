"""The different values of what is alive, where values come and go in any order: nothing leaves in the order
in which it came, so whoever calls knows what goes.

Cost, and the questions: as of `Frequencies`. Space: a number for each pair of a key and a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from windrow.final.growing_array import GrowingArray
from windrow.final.steps import Steps
from windrow.final.values.frequencies import Frequencies
from windrow.slicing import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates.questions import Question
    from windrow.final.values.frequencies import Answers

    Array = np.ndarray[Any, Any]


class Entries(NamedTuple):
    """Values that come or go, each as often as it is counted."""

    pairs: Array
    """The numbers of their pairs."""
    counts: Array
    to: Array
    """How many of them have come or gone by each step."""


class ChangingFrequencies(Frequencies):
    """The values of all keys, of which some come and some go at each step.

    Key 0 has value 5 twice, then one goes and value 6 comes.

    >>> from windrow.aggregates.questions import Distinct, Commonest
    >>> values = ChangingFrequencies([Distinct(), Commonest(1)])
    >>> pairs = values.use(np.array([0, 0, 0]), np.array([5, 5, 6]))
    >>> one = np.ones(3, np.int64)
    >>> come, gone = Entries(pairs, one, np.array([2, 3])), Entries(pairs[:1], one[:1], np.array([0, 1]))
    >>> distinct, commonest = values.change(come, gone, np.array([0, 1, 2]), np.zeros(2, int), np.arange(7))
    >>> distinct.tolist(), commonest.codes.tolist(), commonest.counts.tolist()
    ([1, 2], [5, 5], [2, 1])
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        super().__init__((Window(1, 1),), questions)

    @property
    def used(self) -> int:
        """How many pairs are in use, or were until lately."""
        return self._numbers.known

    def use(self, keys: Array, codes: Array) -> Array:
        """The number of each pair of a key and the code of a value, held once more."""
        pairs = self._numbers.use(keys, codes)
        self._reserve(keys)
        return pairs

    def codes(self, pairs: Array) -> Array:
        """The values of pairs."""
        return self._numbers.codes[pairs]

    def keys(self, pairs: Array) -> Array:
        """The keys of pairs."""
        return self._numbers.keys[pairs]

    def change(
        self,
        come: Entries,
        gone: Entries,
        answers_from: Array,
        answer_keys: Array,
        ranks: Array | None,
        weights: Array | None = None,
    ) -> list[Answers]:
        """Let values go and come, step by step, and answer the keys of each step. What goes is held once less
        only when it is let go of."""
        weights = np.ascontiguousarray(np.zeros((0, 0)) if weights is None else weights, np.int64)
        self._reserve(answer_keys, weights.shape[1])
        if len(self._quantiles) or len(self._lists):
            self._arrange(ranks)
        # What goes stands first, as if it had come in the order in which it goes.
        self._pairs = GrowingArray(np.empty(0, np.int32))
        self._counts = GrowingArray(np.empty(0, np.int64))
        for entries in (gone, come):
            self._pairs.append(entries.pairs)
            self._counts.append(entries.counts)
        self._cursor[0] = 0, len(gone.pairs)
        unknown = np.empty((1, 0), np.int64)
        steps = Steps(
            ends=unknown[0],
            push_to=unknown[0],
            evict_to=unknown,
            block=unknown,
            block_from=unknown,
            answers_from=np.ascontiguousarray(answers_from, np.int64)[None],
            answer_keys=np.ascontiguousarray(answer_keys, np.int32)[None],
        )
        push_to = np.ascontiguousarray(len(gone.pairs) + come.to, np.int64)
        answers = self._follow(0, steps, push_to, np.ascontiguousarray(gone.to, np.int64), weights)
        self._pairs, self._counts = GrowingArray(np.empty(0, np.int32)), GrowingArray(np.empty(0, np.int64))
        return answers

    def let_go(self, pairs: Array) -> Array | None:
        """Each of these is held once less. If pairs have been given other numbers for that: those, by the
        old."""
        self._numbers.release(np.ascontiguousarray(pairs, np.int32))
        if not self._numbers.worth_purging:
            return None
        return self._purge()

    def recode(self, moved: Array) -> None:
        """Values have other codes, by the old ones; their order is as it was."""
        self._numbers.recode(moved)
