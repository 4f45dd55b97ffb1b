"""What a plan costs: passes over the rows, partials, final operations, results.

With trees that each pass over the rows themselves (WeaveShare), C = mλ + Σ EᵢΩᵢ: every tree takes in every
row, and at its edges does its final operations. With one combined pass (TriWeave), rows are taken in once,
into slices that all trees' cuts are among; each of those slices is then merged into every tree's own,
coarser one, which takes an operation for each that does not begin one. With a single tree the two are the
same. Groups multiply everything that happens at an edge or is written.
Source: Shein 2019, §2.4.2 and ch. 7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from windrow.errors import PlanError
from windrow.optimizer.weave.combs import Combs
from windrow.optimizer.weave.constants import OPERATIONS, Constants
from windrow.optimizer.weave.edge_rates import EdgeRates, edge_rate
from windrow.optimizer.weave.final_work import MICROSECONDS, Work, final_work
from windrow.optimizer.weave.tree import Tree
from windrow.optimizer.weave.window_set import WindowSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.optimizer.weave.edge_rates import EdgeCounter
    from windrow.optimizer.weave.window_set import Windows

ADDITIVE = ("panes", "flat_fit")
"""Final aggregation whose work is a sum over windows that does not depend on the edges."""
NO_WORK = Work(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Price:
    """What a tree costs in a plan: its own pass or its share of the combined one, edges, operations."""

    tree: float
    edge: float
    operation: float
    answer: float

    def of(self, tree: Tree) -> float:
        return (
            self.tree + self.edge * tree.edges + self.operation * tree.operations + self.answer * tree.fired
        )


@dataclass(frozen=True)
class CostModel:
    """Prices plans for a stream.

    >>> from windrow.slicing import Window
    >>> second = 1_000_000
    >>> cost = CostModel(rate=10, final="panes")
    >>> one, two = (cost.tree([Window(6 * second, 2 * second)]), cost.tree([Window(8 * second, 4 * second)]))
    >>> cost.of([one, two]), cost.of([cost.woven(one, two)])
    (22.0, 12.5)
    """

    rate: float
    """λ: rows a second."""
    groups: float = 1.0
    """Groups that have rows in a slice."""
    final: str = "shared_any"
    """Which final aggregation, see `final_work.py`."""
    constants: Constants = OPERATIONS
    answered_once: bool = True
    """Whether queries with the same window are answered once (their results are written for each)."""
    counter: EdgeCounter = edge_rate
    edge_rates: EdgeRates = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (self.rate >= 0 and self.groups >= 0):
            raise PlanError(f"a stream has no rate of {self.rate} rows a second in {self.groups} groups")
        final_work(self.final)
        object.__setattr__(self, "edge_rates", EdgeRates(self.counter))

    # trees

    def tree(self, windows: Windows) -> Tree:
        """One tree for all these windows."""
        asked = WindowSet.of(windows)
        return self._tree((asked,), self.edge_rates.known(Combs.of(asked.of_each_group())), asked)

    def woven(self, one: Tree, other: Tree, *, disjoint: bool = True) -> Tree:
        """The two as one. Where they need not be `disjoint`, both may have a window."""
        combs = self.edge_rates.joined(one.combs, other.combs)
        parts = one.parts + other.parts
        together = disjoint or not self.answered_once
        if self.final in ADDITIVE and together:
            work = Work(one.work.each + other.work.each, 0.0, 0.0, 0.0)
            fired = one.fired + other.fired
            return Tree(parts, combs, *self.edge_rates.a_second(combs), work, NO_WORK, fired)
        return self._tree(parts, combs, WindowSet.union([one.windows, other.windows], disjoint=together))

    def woven_cost(self, one: Tree, other: Tree, price: Price, *, disjoint: bool = True) -> float:
        """What the two would cost as one."""
        if self.final in ADDITIVE and (disjoint or not self.answered_once):
            edges, _ = self.edge_rates.a_second(self.edge_rates.joined(one.combs, other.combs))
            operations = edges * (one.work.each + other.work.each)
            answers = price.answer * (one.fired + other.fired)
            return price.tree + price.edge * edges + price.operation * operations + answers
        return price.of(self.woven(one, other, disjoint=disjoint))

    def _tree(self, parts: tuple[WindowSet, ...], combs: Combs, windows: WindowSet) -> Tree:
        edges, exact = self.edge_rates.a_second(combs)
        answers = np.ones(len(windows)) if self.answered_once else windows.queries.astype(np.float64)
        of = final_work(self.final)
        work = of(windows, answers, edges)
        growth = NO_WORK
        if self.final not in ADDITIVE:
            growth = Work(*(more - less for more, less in zip(of(windows, answers, 2.0 * edges), work)))
        return Tree(parts, combs, edges, exact, work, growth, windows.fired * MICROSECONDS)

    # prices

    def separate(self) -> Price:
        """Every tree passes over the rows itself."""
        c = self.constants
        return Price(
            c.row * self.rate, c.partial * self.groups, c.operation * self.groups, c.result * self.groups
        )

    def combined(self, edges: float) -> Price:
        """One pass cuts the rows at all edges, so many a second; every tree merges its slices."""
        merge = self.constants.operation * self.groups
        return Price(merge * edges, -merge, merge, self.constants.result * self.groups)

    def of(self, trees: Sequence[Tree], combined: Combs | None = None) -> float:
        """What a plan of these trees costs: with a pass each, or with one that makes all their cuts."""
        if combined is None:
            price = self.separate()
            return sum(price.of(tree) for tree in trees)
        edges, _ = self.edge_rates.a_second(combined)
        price = self.combined(edges)
        once = self.constants.row * self.rate + self.constants.partial * self.groups * edges
        return once + sum(price.of(tree) for tree in trees)
