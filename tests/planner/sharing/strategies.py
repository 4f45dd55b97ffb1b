"""Random windows in seconds, costs recomputed the obvious way, and every way to partition a few windows."""

from __future__ import annotations

from math import lcm

from hypothesis import strategies as st

from windrow.slicing import Window

SECOND = 1_000_000


def seconds(range, slide, offset=0):
    return Window(range * SECOND, slide * SECOND, offset * SECOND)


windows = st.builds(seconds, st.integers(1, 40), st.integers(1, 12), st.integers(0, 5))
multiples = st.builds(
    lambda slide, factor: seconds(slide * factor, slide), st.integers(1, 12), st.integers(1, 10)
)
rates = st.sampled_from([0.01, 0.3, 1.0, 5.0, 30.0, 1000.0])


def edges_a_second(asked):
    """Counted by marking every boundary of every window on the whole composite slide."""
    length = lcm(*(w.slide for w in asked)) // SECOND
    marked = set()
    for w in asked:
        range, slide, offset = (part // SECOND for part in (w.range, w.slide, w.offset))
        marked |= {t % length for t in range_of(offset, length, slide)}
        marked |= {(t - range) % length for t in range_of(offset, length, slide)}
    return len(marked) / length


def range_of(start, length, step):
    return range(start, start + length, step)


def panes_cost(groups, rate):
    """C = mλ + Σ EΩ with Ω of panes."""
    return sum(
        rate + edges_a_second(group) * sum(max(1.0, w.range / w.slide) for w in group) for group in groups
    )


def partitions(items):
    """Every way to put items in groups."""
    if not items:
        yield []
        return
    first, *rest = items
    for groups in partitions(rest):
        yield [[first], *groups]
        for at, group in enumerate(groups):
            yield [*groups[:at], [first, *group], *groups[at + 1 :]]
