"""A tree for each group over numbered leaves that come and go in any order: a trie of the bits of their
numbers.

A node stands for an aligned block of 2^k numbers, and is there only if both halves of the block have leaves.
So the shape of a tree follows from the numbers of its leaves alone, and with it the order in which records
are folded: neither what was there before, nor how much room there is, nor how a stream was cut shows in the
bits of a sum of floats.

Here is only the shape. What is to be folded is written down as a program (the kinds of instructions below),
which `folds.py` follows for each operation. Nodes whose leaves have changed are marked, up to the root, and
folded again once, when somebody asks.

| | |
|---|---|
| needs | associative; in the order of the leaves' numbers |
| time | O(log n) for a leaf that comes or goes, n leaves with numbers close together; never more than 62 |
| space | 2n nodes of eight words |
| source | Patricia, Morrison 1968; FlatFAT with leaves anywhere, Golab 2006, §8.3.2 |
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.specialise import WITHOUT_REFERENCES, add_code, bound
from windrow.machine_code import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

NUMBER, BIT, LEFT, RIGHT, PARENT, MARKED, GROUP, NEXT = range(8)
"""The words of a node: the number of a leaf, or any beneath; the bit that its children differ in, -1 for a
leaf; those, and what it is a child of, -1 for nothing; whether it has to be folded again; of a leaf, its
group, and which leaf ends together with it. A cache line."""
ROOT, TOUCHED, SEEN, BEHIND, PLACE = range(5)
"""The words of a group: its root, -1 if it has no leaf; whether it has changed; since when that is known; the
number behind its last leaf; and where it stands among the groups that have leaves."""
FREE, MARKS, BUCKETS = range(3)
"""What is counted of all trees: nodes that are free, and marks; and marks by their bits, when they are
sorted."""
BITS = 63
"""Numbers have so many."""
NODE_BITS, NODE = 32, (1 << 32) - 1
"""A mark is the bit of a node, and the node in so many bits."""
FIRST, ENTER, MERGE, LEAVE, COMBINE, ANSWER = range(6)
"""The kinds of instructions, and what they are about: the first leaf of a group, or another, gets a record
(record, leaf, group); a record is merged into a leaf (the same); a leaf leaves (itself, its group); a node is
folded (itself, both children); a group is answered (which answer, its root, itself)."""
NONE = -1
FEWEST = 64
"""There is never room for fewer nodes or groups; a power of two."""


class Forest:
    """The shapes of the trees of all groups."""

    def __init__(self) -> None:
        self.nodes = np.zeros((FEWEST, 8), np.int64)
        self.groups = _no_groups(FEWEST)
        self.free = np.arange(FEWEST)[::-1].copy()
        self.counts = np.zeros(BUCKETS + BITS, np.int64)
        self.counts[FREE] = FEWEST
        self.marks = np.empty((4 * BITS, 2), np.int64)
        """The nodes that are marked, behind their bits, and room to sort them."""

    @property
    def used(self) -> int:
        """How many nodes there are."""
        return len(self.nodes) - int(self.counts[FREE])

    @property
    def bytes(self) -> int:
        """How much memory the shapes take."""
        return self.nodes.nbytes + self.groups.nbytes + self.free.nbytes + self.marks.nbytes

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array, Array]:
        """What kernels take."""
        return self.nodes, self.groups, self.free, self.counts, self.marks

    @property
    def lacks_room(self) -> bool:
        """Whether not even one more leaf can be put in."""
        return bool(self.counts[FREE] < 2)

    def reserve(self, leaves: int, groups: int) -> None:
        """Make room for so many more leaves, and for groups below a number."""
        lacking = 2 * leaves - int(self.counts[FREE])
        if lacking > 0:
            count, more = len(self.nodes), max(lacking, len(self.nodes))
            self.nodes = np.concatenate([self.nodes, np.zeros((more, 8), np.int64)])
            free = np.empty(count + more, np.int64)
            # Those that are free already are taken first.
            free[:more] = np.arange(count + more - 1, count - 1, -1)
            free[more : more + self.counts[FREE]] = self.free[: self.counts[FREE]]
            self.free = free
            self.counts[FREE] += more
        if groups > len(self.groups):
            more = max(groups, 2 * len(self.groups)) - len(self.groups)
            self.groups = np.concatenate([self.groups, _no_groups(more)])

    def reserve_marks(self) -> None:
        """Make room for the marks that come and go of a leaf may leave."""
        if self.counts[MARKS] + 2 * BITS > len(self.marks):
            self.marks = np.concatenate([self.marks, np.empty_like(self.marks)])

    def take(self, leaves: int) -> Array:
        """So many free nodes, for leaves that will be put in; there must be room."""
        self.counts[FREE] -= leaves
        end = int(self.counts[FREE])
        return self.free[end : end + leaves].copy()

    def held(self) -> Array:
        """The nodes that there are."""
        is_held = np.ones(len(self.nodes), bool)
        is_held[self.free[: self.counts[FREE]]] = False
        return np.flatnonzero(is_held)


def _no_groups(count: int) -> Array:
    groups = np.zeros((count, 5), np.int64)
    groups[:, ROOT] = NONE
    return groups


def _mark(nodes: Array, counts: Array, marks: Array, node: int) -> None:
    """Mark an inner node, and all above it."""
    while node != NONE and nodes[node, MARKED] == 0:
        nodes[node, MARKED] = 1
        marks[counts[MARKS], 0] = nodes[node, BIT] << NODE_BITS | node
        counts[MARKS] += 1
        node = nodes[node, PARENT]


mark = compiled(_mark, inline="always", **WITHOUT_REFERENCES)


def _insert(
    nodes: Array, groups: Array, free: Array, counts: Array, marks: Array, group: int, number: int, leaf: int
) -> int:  # fmt: skip
    """Put in a leaf, or find that with its number, which is returned; its path is marked."""
    above, node = NONE, groups[group, ROOT]
    while node != NONE:
        if (number ^ nodes[node, NUMBER]) >> (nodes[node, BIT] + 1) != 0:
            break
        if nodes[node, BIT] == NONE:
            mark(nodes, counts, marks, nodes[node, PARENT])
            return node
        above = node
        node = nodes[node, RIGHT] if (number >> nodes[node, BIT]) & 1 else nodes[node, LEFT]
    nodes[leaf, NUMBER], nodes[leaf, BIT], nodes[leaf, MARKED] = number, NONE, 0
    nodes[leaf, GROUP] = group
    if node == NONE:
        nodes[leaf, PARENT] = NONE
        groups[group, ROOT] = leaf
        return leaf
    differ, bit = (number ^ nodes[node, NUMBER]) >> 1, 0
    while differ != 0:
        differ >>= 1
        bit += 1
    counts[FREE] -= 1
    inner = free[counts[FREE]]
    nodes[inner, NUMBER], nodes[inner, BIT], nodes[inner, MARKED] = number, bit, 0
    if (number >> bit) & 1:
        nodes[inner, LEFT], nodes[inner, RIGHT] = node, leaf
    else:
        nodes[inner, LEFT], nodes[inner, RIGHT] = leaf, node
    nodes[inner, PARENT] = above
    nodes[leaf, PARENT] = inner
    nodes[node, PARENT] = inner
    if above == NONE:
        groups[group, ROOT] = inner
    elif nodes[above, LEFT] == node:
        nodes[above, LEFT] = inner
    else:
        nodes[above, RIGHT] = inner
    mark(nodes, counts, marks, inner)
    return leaf


def _remove(nodes: Array, groups: Array, free: Array, counts: Array, marks: Array, leaf: int) -> None:
    """Take out a leaf; what is left of its path is marked."""
    group, inner = nodes[leaf, GROUP], nodes[leaf, PARENT]
    free[counts[FREE]] = leaf
    counts[FREE] += 1
    if inner == NONE:
        groups[group, ROOT] = NONE
        return
    other = nodes[inner, RIGHT] if nodes[inner, LEFT] == leaf else nodes[inner, LEFT]
    above = nodes[inner, PARENT]
    nodes[other, PARENT] = above
    if above == NONE:
        groups[group, ROOT] = other
    elif nodes[above, LEFT] == inner:
        nodes[above, LEFT] = other
    else:
        nodes[above, RIGHT] = other
    nodes[inner, MARKED] = 0
    free[counts[FREE]] = inner
    counts[FREE] += 1
    mark(nodes, counts, marks, above)


def _fold_again(
    nodes: Array, counts: Array, marks: Array, folds: bool, program: Array, written: int
) -> int:  # fmt: skip
    """Write down how the marked nodes of all trees are folded, children before parents; returns where it
    ends."""
    count = counts[MARKS]
    counts[MARKS] = 0
    if not folds:
        for at in range(count):
            nodes[marks[at, 0] & NODE, MARKED] = 0
        return written
    ascends = True
    for at in range(1, count):
        ascends &= marks[at, 0] >> NODE_BITS >= marks[at - 1, 0] >> NODE_BITS
    if not ascends:
        # Children have lower bits than their parents.
        for bit in range(BITS):
            counts[BUCKETS + bit] = 0
        for at in range(count):
            counts[BUCKETS + (marks[at, 0] >> NODE_BITS)] += 1
        begin = 0
        for bit in range(BITS):
            begin += counts[BUCKETS + bit]
            counts[BUCKETS + bit] = begin - counts[BUCKETS + bit]
        for at in range(count):
            bit = marks[at, 0] >> NODE_BITS
            marks[counts[BUCKETS + bit], 1] = marks[at, 0]
            counts[BUCKETS + bit] += 1
    for at in range(count):
        one = marks[at, 0] if ascends else marks[at, 1]
        node = one & NODE
        # A node that was taken out, and put in elsewhere, has a mark of its own there.
        if nodes[node, MARKED] != 0 and nodes[node, BIT] == one >> NODE_BITS:
            nodes[node, MARKED] = 0
            program[written, 0], program[written, 1] = COMBINE, node
            program[written, 2], program[written, 3] = nodes[node, LEFT], nodes[node, RIGHT]
            written += 1
    return written


insert = compiled(_insert, inline="always", **WITHOUT_REFERENCES)
remove = compiled(_remove, inline="always", **WITHOUT_REFERENCES)
fold_again = compiled(_fold_again, inline="always", **WITHOUT_REFERENCES)


def over_forests(kernel: Callable[..., Any]) -> Any:
    """A kernel that calls these functions, compiled: anew when one of them has changed, which Numba does not
    see from the file of the kernel."""
    fingerprint = sha256()
    add_code(fingerprint, kernel)
    copy = bound(kernel)
    copy.__qualname__ = f"{kernel.__name__}_{fingerprint.hexdigest()[:8]}"
    return compiled(copy, nogil=True, **WITHOUT_REFERENCES)
