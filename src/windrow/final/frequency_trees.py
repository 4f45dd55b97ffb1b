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
from numba import njit

if TYPE_CHECKING:
    from windrow.final.pair_numbers import PairNumbers

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


@njit(cache=True)
def _grow(trees: Array, sums: bool, nodes: Array) -> None:
    for r in range(len(nodes)):
        for at, size, _ in trees:
            for node in range(size - 1, 0, -1):
                left, right = nodes[r, at + 2 * node], nodes[r, at + 2 * node + 1]
                nodes[r, at + node] = left + right if sums else max(left, right)


@njit(cache=True)
def _change(
    pair: int, by: int, keys: Array, codes: Array, weights: Array, layout: Layout,
    count: Array, of_key: Array, sums: Array, maxima: Array,
) -> None:  # fmt: skip
    """Add to the count of a pair, and to all that depends on it."""
    key, code = keys[pair], codes[pair]
    if code == REST:
        of_key[key, OTHERS] += by
        return
    before = count[pair]
    count[pair] += by
    of_key[key, TOTAL] += by
    change = int(count[pair] != 0) - int(before != 0)
    if change != 0:
        of_key[key, DISTINCT] += change
        for column in range(weights.shape[1]):
            of_key[key, TOTALS + column] += change * weights[code, column]
    if len(sums):
        at, node = layout.trees[key, 0], layout.leaf[pair]
        while node > 0:
            sums[at + node] += by
            node >>= 1
    if len(maxima):
        at, node = layout.trees[key, 0], layout.leaf[pair]
        greatest = count[pair]
        while node > 0 and maxima[at + node] != greatest:
            maxima[at + node] = greatest
            greatest = max(greatest, maxima[at + (node ^ 1)])
            node >>= 1


@njit(cache=True)
def _value_at(position: int, key: int, layout: Layout, sums: Array) -> int:
    """The pair at a position among the key's values, each as often as it is counted."""
    at, size, first = layout.trees[key]
    node = 1
    while node < size:
        node *= 2
        if position >= sums[at + node]:
            position -= sums[at + node]
            node += 1
    return layout.order[first + node - size]


@njit(cache=True)
def _list(
    key: int, most: int, by_count: bool, above: int, layout: Layout, maxima: Array, heap: list[Any],
    out: Array,
) -> int:  # fmt: skip
    """Write the pairs that have counts above a bound, the greatest first or by value; how many they are.

    The heap holds subtrees with such pairs, as (priority, first leaf, leaves). Subtrees with equal
    maxima come in order of their leaves, so that of equal counts the smaller value comes first.
    """
    at, size, first = layout.trees[key]
    found = 0
    heap.clear()
    if maxima[at + 1] > above:
        heap.append((0, 0, size))
    while len(heap) > 0 and found < most:
        _, leaf, leaves = heappop(heap)
        while leaves > 1:
            leaves //= 2
            node = at + (size + leaf) // leaves
            left, right = maxima[node], maxima[node + 1]
            go_left = left >= right if by_count else left > above
            other = right if go_left else left
            if other > above and found + 1 < most:
                heappush(heap, (-other if by_count else 0, leaf + leaves if go_left else leaf, leaves))
            if not go_left:
                leaf += leaves
        out[found] = layout.order[first + leaf]
        found += 1
    return found


@njit(cache=True)
def follow(
    pairs: Array, counts: Array, evict_to: Array, push_to: Array, cursor: Array,
    answers_from: Array, answer_keys: Array, quantiles: Array, lists: Array,
    keys: Array, codes: Array, weights: Array, layout: Layout,
    count: Array, of_key: Array, sums: Array, maxima: Array,
    facts: Array, around: Array, fraction: Array, offsets: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Let entries in and out for a run of evaluations, and answer: a row of `facts` an answer,
    two codes and a fraction a quantile, and returned, codes and counts of each list."""
    evicted, pushed = cursor
    heap = [(0, 0, 0)]
    listed_codes = np.empty((len(lists), len(facts)), np.int32)
    listed_counts = np.empty((len(lists), len(facts)), np.int64)
    for step in range(len(push_to)):
        for entry in range(evicted, min(evict_to[step], pushed)):
            _change(
                pairs[entry], -counts[entry], keys, codes, weights, layout, count, of_key, sums, maxima
            )  # fmt: skip
        # Entries that left before anything was evaluated (after a restore, or in gaps) never enter.
        for entry in range(max(pushed, evict_to[step]), push_to[step]):
            _change(
                pairs[entry], counts[entry], keys, codes, weights, layout, count, of_key, sums, maxima
            )  # fmt: skip
        evicted, pushed = evict_to[step], push_to[step]
        for answer in range(answers_from[step], answers_from[step + 1]):
            key = answer_keys[answer]
            facts[answer] = of_key[key]
            distinct, total, others = facts[answer, :TOTALS]
            for q in range(len(quantiles)):
                if total == 0:
                    around[:, q, answer] = -1
                    fraction[q, answer] = 0
                    continue
                position = quantiles[q] * (total - 1)
                low = int(np.floor(position))
                pair = _value_at(low, key, layout, sums)
                around[:, q, answer] = codes[pair]
                fraction[q, answer] = position - low
                if position > low:
                    around[1, q, answer] = codes[_value_at(low + 1, key, layout, sums)]
            for q in range(len(lists)):
                most, by_count, over_rest = lists[q]
                begin = offsets[q, answer]
                offsets[q, answer + 1] = begin
                if distinct == 0:
                    continue
                most = min(most, distinct)
                if begin + most > listed_codes.shape[1]:
                    more = (len(lists), begin + most)
                    listed_codes = np.concatenate((listed_codes, np.empty(more, np.int32)), axis=1)
                    listed_counts = np.concatenate((listed_counts, np.empty(more, np.int64)), axis=1)
                found = listed_codes[q, begin : begin + most]
                above = max(others, 0) if over_rest else 0
                end = begin + _list(key, most, by_count != 0, above, layout, maxima, heap, found)
                for place in range(begin, end):
                    listed_counts[q, place] = count[listed_codes[q, place]]
                    listed_codes[q, place] = codes[listed_codes[q, place]]
                offsets[q, answer + 1] = end
    cursor[0], cursor[1] = evicted, pushed
    return listed_codes, listed_counts
