"""Weaving a class anew: planned in the background, and taken over without moving a slice.

A query that is to change its tree is in both for a while. The new one cuts and lifts for it from now on;
the old one answers it as long as its windows reach back to before that, the new one afterwards. The rows
are in the slices of both, and every evaluation is answered by exactly one of them.
"""

from __future__ import annotations

import logging
from threading import Thread
from typing import TYPE_CHECKING

from windrow.planner.sharing.weaver import WORTH_IT
from windrow.runtime.logs import event

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from windrow.planner.sharing import Weaver
    from windrow.runtime.state.trees import RunningTree
    from windrow.slicing import Window

BACKGROUND_SECONDS = 10.0
"""How long the background may think about one class."""


class Reweaving:
    """Plans classes anew, one at a time, and keeps the plans that pay until somebody takes them."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._plans: dict[Hashable, list[set[Window]]] = {}
        self.failures = 0
        """Plans that could not be made; the log has the reasons."""

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
            planned = _planned(weaver, trees)
        except Exception as error:  # a fault of ours: epochs go on with the trees there are, and report it
            self.failures += 1
            event(
                logging.ERROR, "plan_failed", "the trees of %(windows)d windows stay as they are: %(reason)s",
                windows=sum(map(len, trees)), reason=str(error), error=error,
            )  # fmt: skip
            return
        if planned is not None:
            self._plans[alike] = planned


def _planned(weaver: Weaver, trees: Sequence[set[Window]]) -> list[set[Window]] | None:
    """Other trees for the same windows, if they pay or were asked for. Trees that all queries are about to
    leave have none."""
    present = [weaver.model.tree(tree) for tree in trees if tree]
    if weaver.hint is None and weaver.nodes == 1 and not weaver.may_save(present):
        return None
    planned = weaver.plant([window for tree in trees for window in tree], BACKGROUND_SECONDS)
    pays = weaver.cost(planned) < WORTH_IT * weaver.cost(present)
    asked_for = weaver.hint is not None and len(planned) != len(trees)
    return [set(tree.windows) for tree in planned] if pays or asked_for else None


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
