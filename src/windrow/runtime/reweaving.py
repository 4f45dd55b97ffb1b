"""Weaving a class anew: planned in the background, and taken over without moving a slice.

A query that is to change its tree is in both for a while. The new one cuts and lifts for it from now on;
the old one answers it as long as its windows reach back to before that, the new one afterwards. The rows
are in the slices of both, and every evaluation is answered by exactly one of them.
"""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

from windrow.optimizer.weave.weaver import WORTH_IT
from windrow.runtime.logs import LOG

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from windrow.optimizer.weave import Weaver
    from windrow.runtime.trees import RunningTree
    from windrow.slicing import Window

BACKGROUND_SECONDS = 10.0
"""How long the background may think about one class."""


class Reweaving:
    """Plans classes anew, one at a time, and keeps the plans that pay until somebody takes them."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._plans: dict[Hashable, list[set[Window]]] = {}

    def begin(self, alike: Hashable, weaver: Weaver, trees: Sequence[set[Window]]) -> bool:
        """Plan the trees of a class anew, unless a plan is being made; whether it is begun."""
        if self._thread is not None and self._thread.is_alive():
            return False
        self._thread = Thread(
            target=self._plan, args=(alike, weaver, trees), name="windrow reweaving", daemon=True
        )
        self._thread.start()
        return True

    @property
    def ready(self) -> bool:
        """Whether there is a plan to be taken."""
        return bool(self._plans)

    def wait(self) -> None:
        """Until no plan is being made."""
        if self._thread is not None:
            self._thread.join()

    def take(self, alike: Hashable, windows: set[Window]) -> list[set[Window]] | None:
        """A plan for just these windows, if there is one that pays."""
        plan = self._plans.pop(alike, None)
        return plan if plan is not None and set().union(*plan) == windows else None

    def _plan(self, alike: Hashable, weaver: Weaver, trees: Sequence[set[Window]]) -> None:
        try:
            present = [weaver.model.tree(tree) for tree in trees]
            if weaver.hint is None and weaver.nodes == 1 and not weaver.may_save(present):
                return
            windows = [window for tree in trees for window in tree]
            planned = weaver.plant(windows, BACKGROUND_SECONDS)
        except Exception:  # the epochs go on as they are
            LOG.exception("the plan of %d queries could not be made anew", sum(map(len, trees)))
            return
        pays = weaver.cost(planned) < WORTH_IT * weaver.cost(present)
        if pays or (weaver.hint is not None and len(planned) != len(trees)):
            self._plans[alike] = [set(tree.windows) for tree in planned]


def matched(trees: Sequence[RunningTree], planned: Sequence[set[Window]]) -> list[RunningTree | None]:
    """For each planned tree the running one that has most of its windows, each once."""
    common = sorted(
        (
            (len(tree.windows & windows), t, p)
            for t, tree in enumerate(trees)
            for p, windows in enumerate(planned)
        ),
        reverse=True,
    )
    found: list[RunningTree | None] = [None] * len(planned)
    taken: set[int] = set()
    for shared, t, p in common:
        if shared and t not in taken and found[p] is None:
            found[p] = trees[t]
            taken.add(t)
    return found
