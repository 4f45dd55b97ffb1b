"""What a plan costs: passes over the rows, partials, final operations, results.

With trees that each pass over the rows themselves (WeaveShare), C = mλ + Σ EᵢΩᵢ: every tree takes in every
row, and at its edges does its final operations. With one combined pass (TriWeave), rows are taken in once,
and what is collected is merged into the slices of every tree. With a single tree the two are the same.
Groups multiply everything that happens at an edge or is written.

What a pass collects are its slices, or granules where it has many combs (see `slicing/granules.py`), of
each group, and at most the rows. The paper has no price for that: with `OPERATIONS` trees with passes of
their own cost what the paper says. Source: Shein 2019, §2.4.2 and ch. 7.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.errors import PlanError
from windrow.planner.sharing.combs import Combs
from windrow.planner.sharing.constants import OPERATIONS, Constants
from windrow.planner.sharing.edge_rates import EdgeRates, quickly
from windrow.planner.sharing.final_work import MICROSECONDS, FinalWork, final_work
from windrow.planner.sharing.tree import Tree
from windrow.planner.sharing.window_set import WindowSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.planner.sharing.edge_rates import EdgeCounter
    from windrow.planner.sharing.window_set import Windows

ADDITIVE = ("panes", "flat_fit")
"""Final aggregation whose work is a sum over windows that does not depend on the edges."""
NO_WORK = FinalWork(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class TreePrice:
    """What a tree costs in a plan: its own pass, or its part of the combined one; operations; results."""

    tree: float
    """Whatever its windows."""
    cut: float
    """One cut a second, of a pass of its own."""
    all_rows: float
    """The most that cuts can cost: every row is collected."""
    operation: float
    answer: float

    def of(self, tree: Tree) -> float:
        return self.of_parts(tree.cut, tree.operations, tree.fired)

    def of_parts(self, cut: float, operations: float, fired: float) -> float:
        """Of a tree with a pass that makes so many cuts, so many operations and results, each a second."""
        return self.tree + float(self.collecting(cut)) + self.operation * operations + self.answer * fired

    def collecting(self, cut: Any) -> Any:
        """What a pass with so many cuts a second collects."""
        return np.minimum(self.cut * cut, self.all_rows)


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
    counter: EdgeCounter = quickly
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
            work = FinalWork(one.work.each + other.work.each, 0.0, 0.0, 0.0)
            fired = one.fired + other.fired
            cut = self.edge_rates.of_pass(combs)
            return Tree(parts, combs, *self.edge_rates.a_second(combs), cut, work, NO_WORK, fired)
        return self._tree(parts, combs, WindowSet.union([one.windows, other.windows], disjoint=together))

    def woven_cost(self, one: Tree, other: Tree, price: TreePrice, *, disjoint: bool = True) -> float:
        """What the two would cost as one."""
        if self.final in ADDITIVE and (disjoint or not self.answered_once):
            combs = self.edge_rates.joined(one.combs, other.combs)
            operations = self.edge_rates.a_second(combs)[0] * (one.work.each + other.work.each)
            return price.of_parts(self.edge_rates.of_pass(combs), operations, one.fired + other.fired)
        return price.of(self.woven(one, other, disjoint=disjoint))

    def _tree(self, parts: tuple[WindowSet, ...], combs: Combs, windows: WindowSet) -> Tree:
        edges, exact = self.edge_rates.a_second(combs)
        answers = np.ones(len(windows)) if self.answered_once else windows.queries.astype(np.float64)
        of = final_work(self.final)
        work = of(windows, answers, edges)
        growth = NO_WORK
        if self.final not in ADDITIVE:
            growth = FinalWork(*(more - less for more, less in zip(of(windows, answers, 2.0 * edges), work)))
        cut = self.edge_rates.of_pass(combs)
        return Tree(parts, combs, edges, exact, cut, work, growth, windows.fired * MICROSECONDS)

    # prices

    def separate(self) -> TreePrice:
        """Every tree passes over the rows itself."""
        c = self.constants
        return TreePrice(
            c.row * self.rate,
            c.partial * self.groups,
            c.partial * self.rate,
            c.operation * self.groups,
            c.result * self.groups,
        )

    def combined(self, combs: Combs) -> TreePrice:
        """One pass makes all these cuts; every tree merges what it collects."""
        merging = self.constants.operation * float(self.collected(self.edge_rates.of_pass(combs)))
        return replace(self.separate(), tree=merging, cut=0.0, all_rows=0.0)

    def of(self, trees: Sequence[Tree], combined: Combs | None = None) -> float:
        """What a plan of these trees costs: with a pass each, or with one that makes all their cuts."""
        if combined is None:
            price = self.separate()
            return sum(price.of(tree) for tree in trees)
        rows = self.constants.row * self.rate
        return rows + self.collecting(combined, len(trees)) + sum(map(self.finishing, trees))

    def finishing(self, tree: Tree) -> float:
        """What the final aggregation and the results of a tree cost."""
        price = self.separate()
        return price.operation * tree.operations + price.answer * tree.fired

    def collecting(self, combs: Combs, trees: int) -> float:
        """What the partials of one pass cost: to collect, to merge into one tree, and into each other."""
        a_partial = self.constants.partial + (trees - 1) * self.constants.operation
        return a_partial * float(self.collected(self.edge_rates.of_pass(combs)))

    def collected(self, cut: Any) -> Any:
        """Partials a second of a pass with so many cuts: at most one a row."""
        return np.minimum(self.rate, self.groups * cut)
