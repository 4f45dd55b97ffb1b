"""The counts of one range's values, kept as entries come and go, in a tree for each key if need be.

All pairs (key, value) are in order of key, then value. The pairs of a key are the leaves of its own
binary tree, whose size is a power of two: node 1 is the root, the children of node i are 2i and 2i + 1,
the leaves begin at node `size`. Trees lie one behind the other in one array: one of sums, which finds
the value at a position, and one of maxima, which finds the greatest counts.

Time, with d values of a key: O(log d) an entry and position, O(k log d) for the k greatest counts.
Space: at most 4 nodes for a pair in each array.
Source: the order-statistic tree of Cormen et al., Introduction to Algorithms, §14.1, with the shape of
Bentley's segment tree.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from windrow.machine_code import compiled

if TYPE_CHECKING:
    from windrow.final.values.pair_numbers import PairNumbers

    Array = np.ndarray[Any, Any]

REST = -1
"""The code of entries that count for no value, but for the rest of their key."""

DISTINCT, TOTAL, OTHERS, TOTALS = range(4)
"""The columns that each key has: different values, their counts, the rest's, and totals from here on."""


class Layout(NamedTuple):
    """Where the trees are."""

    trees: Array
    """A row a key: its first node, its size, and where its pairs begin in `order`."""
    leaf: Array
    """Per pair, its node in the tree of its key."""
    order: Array
    """The pairs, by key and value."""

    @classmethod
    def empty(cls) -> Layout:
        """No trees yet."""
        return cls(np.zeros((0, 3), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))

    def extended(self, pairs: PairNumbers, ranks: Array) -> Layout:
        """The layout when the pairs that are known by now have got their places between the old ones."""
        fresh = np.arange(len(self.leaf), pairs.known)
        order = np.concatenate([self.order, fresh[pairs.codes[fresh] != REST]])
        # The old ones are one ascending run, so that a stable sort takes linear time, and m log m for m new.
        by_rank = pairs.keys[order].astype(np.int64) << 32 | ranks[pairs.codes[order]]
        order = order[np.argsort(by_rank, kind="stable")]
        keys = pairs.keys[order]
        of_key = np.bincount(keys)
        first = np.cumsum(of_key) - of_key
        size = np.where(of_key > 0, 1 << np.frexp(of_key - 1.0)[1].astype(np.int64), 0)
        leaf = np.zeros(pairs.known, np.int64)
        leaf[order] = size[keys] + np.arange(len(order)) - first[keys]
        return Layout(np.stack([2 * (np.cumsum(size) - size), size, first], axis=1), leaf, order)

    def plant(self, pairs: PairNumbers, count: Array, sums: bool) -> Array:
        """The trees of sums or of maxima over counts, with a row a range."""
        at, size, _ = self.trees.T
        nodes = np.zeros((len(count), 2 * int(size.sum())), np.int64)
        nodes[:, at[pairs.keys[self.order]] + self.leaf[self.order]] = count[:, self.order]
        _grow(self.trees, sums, nodes)
        return nodes


@compiled
def _grow(trees: Array, sums: bool, nodes: Array) -> None:
    for r in range(len(nodes)):
        for at, size, _ in trees:
            for node in range(size - 1, 0, -1):
                left, right = nodes[r, at + 2 * node], nodes[r, at + 2 * node + 1]
                nodes[r, at + node] = left + right if sums else max(left, right)


@compiled
def _count(
    sign: int, begin: int, end: int, pairs: Array, counts: Array, keys: Array, codes: Array, weights: Array,
    trees: Array, leaf: Array, count: Array, of_key: Array, sums: Array, maxima: Array,
) -> None:  # fmt: skip
    """Add entries to the counts of their pairs, or take them out, and all that depends on it."""
    for entry in range(begin, end):
        pair, by = pairs[entry], sign * counts[entry]
        key, code = keys[pair], codes[pair]
        if code == REST:
            of_key[key, OTHERS] += by
            continue
        before, after = count[pair], count[pair] + by
        count[pair] = after
        of_key[key, TOTAL] += by
        if (before == 0) != (after == 0):
            of_key[key, DISTINCT] += sign
            for column in range(weights.shape[1]):
                of_key[key, TOTALS + column] += sign * weights[code, column]
        if len(sums):
            at, node = trees[key, 0], leaf[pair]
            while node > 0:
                sums[at + node] += by
                node >>= 1
        if len(maxima):
            at, node = trees[key, 0], leaf[pair]
            while node > 0 and maxima[at + node] != after:
                maxima[at + node] = after
                after = max(after, maxima[at + (node ^ 1)])
                node >>= 1


@compiled
def _value_at(position: int, key: int, trees: Array, order: Array, sums: Array) -> int:
    """The pair at a position among the key's values, each as often as it is counted."""
    at, size = trees[key, 0], trees[key, 1]
    node = 1
    while node < size:
        node *= 2
        if position >= sums[at + node]:
            position -= sums[at + node]
            node += 1
    return order[trees[key, 2] + node - size]


@compiled
def _locate(
    begin: int, end: int, answer_keys: Array, p: float, codes: Array, trees: Array, order: Array,
    of_key: Array, sums: Array, low: Array, high: Array, fraction: Array,
) -> None:  # fmt: skip
    """The values around one position, for some answers."""
    for answer in range(begin, end):
        key = answer_keys[answer]
        total = of_key[key, TOTAL]
        if total == 0:
            low[answer], high[answer], fraction[answer] = REST, REST, 0
            continue
        position = p * (total - 1)
        floor = int(np.floor(position))
        low[answer] = high[answer] = codes[_value_at(floor, key, trees, order, sums)]
        fraction[answer] = position - floor
        if position > floor:
            high[answer] = codes[_value_at(floor + 1, key, trees, order, sums)]


@compiled
def _list(
    begin: int, end: int, answer_keys: Array, most: int, by_count: bool, over_rest: bool, codes: Array,
    trees: Array, order: Array, count: Array, of_key: Array, maxima: Array, offsets: Array,
    listed: Array, counts: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Append codes and counts of values, the most frequent first or by value, for some answers.

    Subtrees with such values wait as (-maximum, first leaf, leaves). For the most frequent they are a
    heap; equal maxima come in order of their leaves, so that of equal counts the smaller value comes
    first. By value they are a stack.
    """
    waiting = [(0, 0, 0)]
    for answer in range(begin, end):
        key, found = answer_keys[answer], offsets[answer]
        last = found + min(most, of_key[key, DISTINCT])
        if last > len(listed):
            listed = np.concatenate((listed, np.empty(last, listed.dtype)))
            counts = np.concatenate((counts, np.empty(last, counts.dtype)))
        above = max(of_key[key, OTHERS], 0) if over_rest else 0
        waiting.clear()
        if found < last:
            at, size, first = trees[key, 0], trees[key, 1], trees[key, 2]
            if maxima[at + 1] > above:
                waiting.append((0, 0, size))
        while len(waiting) > 0 and found < last:
            _, leaf, leaves = heappop(waiting) if by_count else waiting.pop()
            while leaves > 1:
                leaves >>= 1
                node = at + (size + leaf) // leaves
                left, right = maxima[node], maxima[node + 1]
                go_left = left >= right if by_count else left > above
                other, other_leaf = (right, leaf + leaves) if go_left else (left, leaf)
                if not go_left:
                    leaf += leaves
                if other > above and found + 1 < last:
                    if by_count:
                        heappush(waiting, (-other, other_leaf, leaves))
                    else:
                        waiting.append((-other, other_leaf, leaves))
            pair = order[first + leaf]
            listed[found], counts[found] = codes[pair], count[pair]
            found += 1
        offsets[answer + 1] = found
    return listed, counts


@compiled
def follow(
    pairs: Array, counts: Array, evict_to: Array, push_to: Array, cursor: Array,
    answers_from: Array, answer_keys: Array, quantiles: Array, lists: Array,
    keys: Array, codes: Array, weights: Array, trees: Array, leaf: Array, order: Array,
    count: Array, of_key: Array, sums: Array, maxima: Array,
    facts: Array, around: Array, fraction: Array, offsets: Array,
) -> tuple[list[Array], list[Array]]:  # fmt: skip
    """Let entries in and out for a run of evaluations, and answer.

    Written are a row of `facts` an answer, and two codes and a fraction for each quantile; returned,
    codes and counts for each list.
    """
    evicted, pushed = cursor
    listed_codes = [np.empty(len(facts), np.int32) for _ in lists]
    listed_counts = [np.empty(len(facts), np.int64) for _ in lists]
    for step in range(len(push_to)):
        _count(
            -1, evicted, min(evict_to[step], pushed), pairs, counts, keys, codes, weights,
            trees, leaf, count, of_key, sums, maxima,
        )  # fmt: skip
        # Entries that left before anything was evaluated (after a restore, or in gaps) never enter.
        _count(
            1, max(pushed, evict_to[step]), push_to[step], pairs, counts, keys, codes, weights,
            trees, leaf, count, of_key, sums, maxima,
        )  # fmt: skip
        evicted, pushed = evict_to[step], push_to[step]
        begin, end = answers_from[step], answers_from[step + 1]
        for answer in range(begin, end):
            for column in range(facts.shape[1]):
                facts[answer, column] = of_key[answer_keys[answer], column]
        for q in range(len(quantiles)):
            _locate(
                begin, end, answer_keys, quantiles[q], codes, trees, order, of_key, sums,
                around[0, q], around[1, q], fraction[q],
            )  # fmt: skip
        for q in range(len(lists)):
            most, by_count, over_rest = lists[q]
            listed_codes[q], listed_counts[q] = _list(
                begin, end, answer_keys, most, by_count != 0, over_rest != 0, codes, trees, order,
                count, of_key, maxima, offsets[q], listed_codes[q], listed_counts[q],
            )  # fmt: skip
    cursor[0], cursor[1] = evicted, pushed
    return listed_codes, listed_counts
