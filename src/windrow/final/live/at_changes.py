"""What becomes of a forest at each instant at which leaves go and come, with an answer of each group that has
changed: what a GROUP BY over windows without SLIDE does.

Of an instant, first those go that end, then those come that begin. A leaf that comes gets the number behind
the last one that is alive in its group: numbers are small and ascend with time, and follow from what is
alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.live.forest import (
    ANSWER,
    BEHIND,
    BIT,
    BITS,
    ENTER,
    FIRST,
    GROUP,
    LEAVE,
    MARKS,
    NONE,
    NUMBER,
    RIGHT,
    ROOT,
    SEEN,
    TOUCHED,
    fold_again,
    insert,
    over_forests,
    remove,
)

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

COME, GONE, PHASE, INSTANT, TOLD, ANSWERS, CHANGED, WRITTEN = range(8)
"""Where it stands: how many leaves have come and gone, what it is about and at which instant, and how much it
has written: what is told, answers among it, groups that have changed at the instant, instructions."""
NEXT_INSTANT, APPLY, TELL, DONE = range(4)
BEFORE, NOW, ENDED = range(3)
"""What is told of a group at an instant: what its answer was before, or is now, or that it has no row any
more."""


def _follow_changes(
    ts: Array, of: Array, numbers: Array, leaves: Array, ends: Array, ending: Array, folds: bool, tells: bool,
    now: int, nodes: Array, groups: Array, free: Array, counts: Array, marks: Array,
    changed: Array, cursor: Array, program: Array, told: Array, left: Array,
) -> None:  # fmt: skip
    """Go on until all is done or there is no room to write.

    `ts`, `of`, `numbers` and `leaves` are of those that come: when, in which group, as which number (-1:
    behind the last), and the free nodes that they get. `ends` and `ending`: when leaves go, and which. `now`
    is the number of the run. Written are the `program`; what is `told`: instant, group, what; and `left`, the
    group of each leaf that has gone.
    """
    come, gone, written = cursor[COME], cursor[GONE], cursor[WRITTEN]
    while cursor[PHASE] != DONE:
        if cursor[PHASE] == NEXT_INSTANT:
            if come == len(ts) and gone == len(ends):
                cursor[PHASE] = DONE
                break
            if come == len(ts) or (gone < len(ends) and ends[gone] < ts[come]):
                cursor[INSTANT] = ends[gone]
            else:
                cursor[INSTANT] = ts[come]
            cursor[PHASE], cursor[CHANGED] = APPLY, 0
        instant = cursor[INSTANT]
        while cursor[PHASE] == APPLY:
            full = written + 2 > len(program) or cursor[TOLD] == len(told)
            if full or counts[MARKS] + 2 * BITS > len(marks):
                break
            goes = gone < len(ends) and ends[gone] == instant
            if not goes and (come == len(ts) or ts[come] != instant):
                cursor[PHASE] = TELL
                break
            group = nodes[ending[gone], GROUP] if goes else of[come]
            root = groups[group, ROOT]
            if groups[group, TOUCHED] == 0:
                groups[group, TOUCHED] = 1
                changed[cursor[CHANGED]] = group
                cursor[CHANGED] += 1
                if tells and groups[group, SEEN] != now:
                    groups[group, SEEN] = now
                    if root != NONE:
                        program[written, 0], program[written, 1] = ANSWER, cursor[ANSWERS]
                        program[written, 2], program[written, 3] = root, group
                        written += 1
                        told[cursor[TOLD], 0], told[cursor[TOLD], 1] = instant, group
                        told[cursor[TOLD], 2] = BEFORE
                        cursor[TOLD] += 1
                        cursor[ANSWERS] += 1
            if goes:
                leaf = ending[gone]
                program[written, 0], program[written, 1], program[written, 2] = LEAVE, leaf, group
                written += 1
                was_last = nodes[leaf, NUMBER] == groups[group, BEHIND] - 1
                remove(nodes, groups, free, counts, marks, leaf)
                if was_last:
                    node = groups[group, ROOT]
                    while node != NONE and nodes[node, BIT] != NONE:
                        node = nodes[node, RIGHT]
                    groups[group, BEHIND] = 0 if node == NONE else nodes[node, NUMBER] + 1
                left[gone] = group
                gone += 1
            else:
                if root == NONE:
                    groups[group, BEHIND] = 0
                number = groups[group, BEHIND] if numbers[come] == NONE else numbers[come]
                groups[group, BEHIND] = max(groups[group, BEHIND], number + 1)
                numbers[come] = number
                insert(nodes, groups, free, counts, marks, group, number, leaves[come])
                program[written, 0], program[written, 1] = FIRST if root == NONE else ENTER, come
                program[written, 2], program[written, 3] = leaves[come], group
                written += 1
                come += 1
        if cursor[PHASE] == TELL:
            count = cursor[CHANGED]
            if written + counts[MARKS] + count > len(program) or cursor[TOLD] + count > len(told):
                break
            written = fold_again(nodes, counts, marks, folds, program, written)
            for place in range(count):
                group = changed[place]
                groups[group, TOUCHED] = 0
                root = groups[group, ROOT]
                if not tells:
                    continue
                told[cursor[TOLD], 0], told[cursor[TOLD], 1] = instant, group
                told[cursor[TOLD], 2] = ENDED if root == NONE else NOW
                cursor[TOLD] += 1
                if root != NONE:
                    program[written, 0], program[written, 1] = ANSWER, cursor[ANSWERS]
                    program[written, 2], program[written, 3] = root, group
                    written += 1
                    cursor[ANSWERS] += 1
            cursor[PHASE] = NEXT_INSTANT
        elif cursor[PHASE] == APPLY:
            break
    cursor[COME], cursor[GONE], cursor[WRITTEN] = come, gone, written


follow_changes = over_forests(_follow_changes)
