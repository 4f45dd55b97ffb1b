"""The overview as text: totals of a stream, its classes, and their trees.

However many queries there are, it stays a few screens long: windows are listed up to a handful, then as
ranges from..to; trees up to the few dearest of a class; classes up to a screen, then by their grouping.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from windrow.cql import format_duration
from windrow.explain.overview import NO_WINDOW, why_alone
from windrow.explain.words import (
    listed,
    of_a_core,
    repeats_after,
    saves,
    shortened,
    significant,
    some,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from windrow.explain.overview import ClassOverview, StreamOverview, TreeOverview
    from windrow.planner.sharing import WindowSet
    from windrow.slicing import Cuts

MOST_CLASSES = 40
"""More are told by their grouping."""
MOST_TREES = 5
"""Of a class; the dearest ones."""
MOST_WINDOWS = 4
MOST_NODES = 8
MOST_NAMES = 8
MOST_GROUPS = 3
LONGEST_PREDICATE = 100


def summary(stream: StreamOverview) -> Iterator[str]:
    """The lines about one stream."""
    yield f"stream {stream.name}: {counts(stream)}"
    if stream.classes:
        yield f"  {assumptions(stream)}"
        yield f"  estimated: {savings(stream.cost, stream.alone)}"
        if stream.nodes > 1:
            yield f"  {_work_of_tasks(stream)}"
    if len(stream.classes) <= MOST_CLASSES:
        most = MOST_TREES if len(stream.classes) * MOST_TREES <= MOST_CLASSES else 1
        for one in stream.classes:
            yield from _class(one, most)
    else:
        yield from _groupings(stream)
    reasons = {s.name: s.reason for tree in stream.trees for s in tree.structures if s.reason}
    yield from (f"  {name}: {reason}" for name, reason in reasons.items())
    why: dict[str, list[str]] = {}
    for name, query in stream.own.items():
        why.setdefault(why_alone(query), []).append(name)
    for reason, names in why.items():
        own = f"with a state of {'its' if len(names) == 1 else 'their'} own"
        alone = f"{some(len(names), 'query')} {'without a state' if reason == NO_WINDOW else own}"
        yield f"  {alone} ({reason}): {listed(names, MOST_NAMES)}"


def counts(stream: StreamOverview) -> str:
    """How many of each there are."""
    alone = stream.own_title.replace("state", "with a state").replace("no window", "without a window")
    own = f" ({len(stream.own):,} {alone})" if stream.own and stream.classes else ""
    parts = [some(stream.queries, "query") + own]
    if stream.classes:
        parts += [some(len(stream.classes), "class"), some(len(stream.trees), "tree")]
    return ", ".join([*parts, f"{some(len(stream.passes), 'pass')} over each batch"])


def assumptions(stream: StreamOverview) -> str:
    """What costs are computed from, and who planned the trees."""
    seen = "observed" if stream.rate_observed else "assumed"
    said = f"at {significant(stream.rate, 3)} rows a second ({seen})"
    for groups, observed in stream.groups[:MOST_GROUPS]:
        said += f", {significant(groups)} groups a slice ({'observed' if observed else 'assumed'})"
    planners = Counter(
        f"planned by {one.optimizer}" if one.optimizer else "running" for one in stream.classes
    )
    if len(planners) == 1:
        return f"{said}; trees {next(iter(planners))}"
    who = [f"{planner} ({some(classes, 'class')})" for planner, classes in planners.items()]
    return f"{said}; trees {', '.join(who)}"


def _work_of_tasks(stream: StreamOverview) -> str:
    """What the Spark tasks do that hold trees."""
    nodes: dict[int, list[TreeOverview]] = {}
    for tree in stream.trees:
        if tree.node is not None:
            nodes.setdefault(tree.node, []).append(tree)
    each = [
        f"node {node + 1} {some(len(trees), 'tree')}, {of_a_core(sum(tree.final for tree in trees))}"
        for node, trees in sorted(nodes.items())
    ]
    return f"final work, in {some(len(nodes), 'Spark task')}: {listed(each, MOST_NODES, '; ')}"


def savings(cost: float, alone: float) -> str:
    """What is estimated, and what it would be without sharing."""
    said = saves(alone, cost)
    if said == "nothing to share":
        return of_a_core(cost)
    return f"{of_a_core(cost)}, each query alone {of_a_core(alone)}: {said}"


def _class(one: ClassOverview, most: int) -> Iterator[str]:
    title = shortened(one.title, LONGEST_PREDICATE)
    apart = ", each with a pass of its own" if one.separate else ""
    many = f"{some(len(one.queries), 'query')}, {some(len(one.trees), 'tree')}{apart}"
    yield f"  class {one.number}: {title}; {many}"
    shown = sorted(one.trees, key=lambda tree: -tree.cost)[:most]
    for tree in shown:
        yield from _tree(tree)
    rest = [tree for tree in one.trees if tree not in shown]
    if rest:
        queries = sum(len(tree.queries) for tree in rest)
        between = rates(rest, 3)
        cost = savings(sum(tree.cost for tree in rest), sum(tree.alone for tree in rest))
        many = f"{some(len(rest), 'more tree')}: {some(queries, 'query')}"
        yield f"    {many}, {between} edges a second; {cost}"


def _tree(tree: TreeOverview) -> Iterator[str]:
    joining = f", {tree.joining:,} of them from the next epoch on" if tree.joining and tree.runs else ""
    runs = "running" if tree.runs else "planned"
    if tree.node is not None:
        runs += f" on node {tree.node + 1}"
    asked = f"{some(len(tree.queries), 'query')}{joining}; {windows(tree.windows)}"
    yield f"    tree {tree.number} ({runs}): {asked}"
    cut = f"; rows are cut {cuts(tree.cuts)}" if tree.cuts is not None else ""
    yield f"      composite slide {repeats_after(tree.composite_slide)}, {edges(tree)}{cut}"
    yield f"      final: {'; '.join(structures([tree])) or 'the groups alone'}"
    yield f"      {savings(tree.cost, tree.alone)}"


def structures(trees: Iterable[TreeOverview]) -> list[str]:
    """What serves which operations."""
    served: dict[str, dict[str, None]] = {}
    for tree in trees:
        for structure in tree.structures:
            served.setdefault(structure.name, {})[structure.operation] = None
    return [f"{name} for {listed(operations)}" for name, operations in served.items()]


def edges(tree: TreeOverview) -> str:
    """How often a tree has an edge."""
    number = significant(tree.woven.edges, 3)
    return f"{'' if tree.woven.exact else '≈ '}{number} edge{'s'[: number != '1']} a second"


def rates(trees: Iterable[TreeOverview], digits: int = 2) -> str:
    """Between which rates trees have edges."""
    numbers = sorted(tree.woven.edges for tree in trees)
    least, most = (significant(number, digits) for number in (numbers[0], numbers[-1]))
    return least if least == most else f"{least} to {most}"


def cuts(made: Cuts) -> str:
    """How the JVM cuts rows: by one remainder, or by several."""
    if len(made.combs) == 1:
        return f"into granules of {format_duration(made.combs[0].period)}"
    return f"by {some(len(made.combs), 'comb')}"


def windows(asked: WindowSet) -> str:
    """Windows: which, if they are few, or of which sizes."""
    if len(asked) <= MOST_WINDOWS:
        return ", ".join(
            f"RANGE {format_duration(window.range)} SLIDE {format_duration(window.slide)}" for window in asked
        )
    ranges, slides, _ = asked.rows.T
    by_slide: Counter[int] = Counter()
    for slide, queries in zip(slides.tolist(), asked.queries.tolist(), strict=True):
        by_slide[slide] += queries
    often = [f"{format_duration(slide)} ({queries:,})" for slide, queries in by_slide.most_common(2)]
    return (
        f"{some(len(asked), 'window')}, ranges {_between(ranges.tolist())}, "
        f"slides {_between(slides.tolist())}, most often {', '.join(often)}"
    )


def _between(sizes: list[int]) -> str:
    least, most = format_duration(min(sizes)), format_duration(max(sizes))
    return least if least == most else f"{least} to {most}"


def _groupings(stream: StreamOverview) -> Iterator[str]:
    """Many classes, by what they group by."""
    by_keys = groupings(stream.classes)
    for title, classes in list(by_keys.items())[:MOST_CLASSES]:
        trees = [tree for one in classes for tree in one.trees]
        queries = sum(len(one.queries) for one in classes)
        total = sum(tree.woven.edges for tree in trees)
        exact = all(tree.woven.exact for tree in trees)
        cost = savings(sum(one.cost for one in classes), sum(one.alone for one in classes))
        yield (
            f"  {shortened(title, LONGEST_PREDICATE)}: {some(len(classes), 'class')}, "
            f"{some(queries, 'query')}, {some(len(trees), 'tree')}, "
            f"{'' if exact else '≈ '}{significant(total, 3)} edges a second; {cost}"
        )
    if len(by_keys) > MOST_CLASSES:
        left = list(by_keys.values())[MOST_CLASSES:]
        yield f"  {some(len(left), 'more grouping')} of {some(sum(map(len, left)), 'class')}"
    predicates = dict.fromkeys(
        shortened(one.where, LONGEST_PREDICATE) if one.where else "all rows" for one in stream.classes
    )
    yield f"  {some(len(predicates), 'predicate')}: {listed(predicates, MOST_CLASSES, '; ')}"
    yield f"  final: {'; '.join(structures(stream.trees))}"
    dearest = max(stream.classes, key=lambda one: one.cost)
    yield "  the dearest class:"
    yield from (f"  {line}" for line in _class(dearest, MOST_TREES))


def groupings(classes: Iterable[ClassOverview]) -> dict[str, list[ClassOverview]]:
    """Classes by what they group by, those with most queries first."""
    by_keys: dict[str, list[ClassOverview]] = {}
    for one in classes:
        by_keys.setdefault(one.grouping, []).append(one)
    ordered = sorted(by_keys.items(), key=lambda item: -sum(len(one.queries) for one in item[1]))
    return dict(ordered)
