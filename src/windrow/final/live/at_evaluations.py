"""What becomes of a forest from one evaluation to the next, with an answer of each group that has leaves:
what a GROUP BY over windows with SLIDE does.

A leaf is a slot: all records of a group that live to see the same evaluation last are merged into it, in the
order in which they come. Leaves of one slot leave together, so each knows the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.live.forest import (
    ANSWER,
    BITS,
    ENTER,
    FIRST,
    FREE,
    GROUP,
    LEAVE,
    MARKS,
    MERGE,
    NEXT,
    NONE,
    PLACE,
    ROOT,
    fold_again,
    insert,
    over_forests,
    remove,
)

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

COME, EVALUATED, PHASE, ANSWERS, LIVE, LEFT, WRITTEN = range(7)
"""Where it stands: how many records have come and evaluations are over, what it is about, and how much there
is: answers, groups that have leaves, leaves that have left, instructions."""
EVICT, TAKE_IN, TELL, DONE = range(4)


def _follow_evaluations(
    first: Array, of: Array, numbers: Array, slots: Array, leaves: Array, ends: Array, expired: Array,
    heads: Array, folds: bool, nodes: Array, groups: Array, free: Array, counts: Array, marks: Array,
    live: Array, cursor: Array, program: Array, answers_to: Array, answered: Array, left: Array,
) -> None:  # fmt: skip
    """Go on until all is done or there is no room to write.

    `first`, `of`, `numbers` and `slots` are of the records that come: the evaluation that sees each first,
    which ascends, its group, as which leaf, and which of the `heads` that hangs on. `ends` are the instants
    of evaluations, and `expired` the heads of the leaves that leave before each, -1 for none. Written are the
    `program`; the `leaves` that records came into, ~leaf if it was a new one; the group of each answer,
    `answered`, and how many answers there are up to the end of each evaluation; and `left`, the group of each
    leaf that has gone.
    """
    come, over, written = cursor[COME], cursor[EVALUATED], cursor[WRITTEN]
    while cursor[PHASE] != DONE:
        if cursor[PHASE] == EVICT:
            head = expired[over] if over < len(ends) else NONE
            while head != NONE and heads[head] != NONE and written < len(program):
                if counts[MARKS] + 2 * BITS > len(marks):
                    break
                leaf = heads[head]
                group = nodes[leaf, GROUP]
                heads[head] = nodes[leaf, NEXT]
                program[written, 0], program[written, 1], program[written, 2] = LEAVE, leaf, group
                written += 1
                remove(nodes, groups, free, counts, marks, leaf)
                if groups[group, ROOT] == NONE:
                    cursor[LIVE] -= 1
                    last = live[cursor[LIVE]]
                    live[groups[group, PLACE]] = last
                    groups[last, PLACE] = groups[group, PLACE]
                left[cursor[LEFT]] = group
                cursor[LEFT] += 1
            if head != NONE and heads[head] != NONE:
                break
            cursor[PHASE] = TAKE_IN
        if cursor[PHASE] == TAKE_IN:
            while come < len(first) and (over == len(ends) or first[come] <= ends[over]):
                if written == len(program) or counts[MARKS] + 2 * BITS > len(marks) or counts[FREE] < 2:
                    break
                group = of[come]
                is_first = groups[group, ROOT] == NONE
                if is_first:
                    groups[group, PLACE] = cursor[LIVE]
                    live[cursor[LIVE]] = group
                    cursor[LIVE] += 1
                counts[FREE] -= 1
                fresh = free[counts[FREE]]
                # Nothing but the node itself is taken while it is put in, so that it can be given back.
                leaf = insert(nodes, groups, free, counts, marks, group, numbers[come], fresh)
                if leaf != fresh:
                    free[counts[FREE]] = fresh
                    counts[FREE] += 1
                    leaves[come] = leaf
                    program[written, 0] = MERGE
                else:
                    nodes[leaf, NEXT] = heads[slots[come]]
                    heads[slots[come]] = leaf
                    leaves[come] = ~leaf
                    program[written, 0] = FIRST if is_first else ENTER
                program[written, 1], program[written, 2], program[written, 3] = come, leaf, group
                written += 1
                come += 1
            if come < len(first) and (over == len(ends) or first[come] <= ends[over]):
                break
            cursor[PHASE] = TELL
        if cursor[PHASE] == TELL:
            is_evaluation = over < len(ends)
            count = cursor[LIVE] if is_evaluation else 0
            room = written + counts[MARKS] + count <= len(program)
            if not room or cursor[ANSWERS] + count > len(answered):
                break
            written = fold_again(nodes, counts, marks, folds, program, written)
            for place in range(count):
                group = live[place]
                program[written, 0], program[written, 1] = ANSWER, cursor[ANSWERS]
                program[written, 2], program[written, 3] = groups[group, ROOT], group
                written += 1
                answered[cursor[ANSWERS]] = group
                cursor[ANSWERS] += 1
            if is_evaluation:
                answers_to[over] = cursor[ANSWERS]
                over += 1
                cursor[PHASE] = EVICT
            else:
                cursor[PHASE] = DONE
    cursor[COME], cursor[EVALUATED], cursor[WRITTEN] = come, over, written


follow_evaluations = over_forests(_follow_evaluations)
