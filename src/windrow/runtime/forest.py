"""All trees of one stream: queries find their tree when they come, and leave it when they go.

A query that comes while the stream runs is answered from what its tree holds already, as far back as
every cut and every partial that it needs has been made; otherwise from the windows that begin after the
latest event time seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.operators.window_aggregate import BEGINNING
from windrow.optimizer import sharing_class
from windrow.runtime.trees import Membership, RunningTree
from windrow.slicing import RowWindow, slices

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from windrow.aggregates import Partial
    from windrow.runtime.home import Home
    from windrow.runtime.trees import RunningQuery
    from windrow.slicing import Comb


class Forest:
    """The trees of a stream, as the catalog has them and as the next epoch will."""

    def __init__(self, home: Home, stream: str) -> None:
        self._home = home
        self._stream = stream
        self._trees: dict[int, RunningTree] | None = None
        self.changed = False
        """Whether the catalog does not know yet who is in which tree."""

    @property
    def trees(self) -> list[RunningTree]:
        """The trees that have queries."""
        return list((self._trees or {}).values())

    def forget(self) -> None:
        """Read everything from the catalog again: what is in memory may not be what is committed."""
        self._trees = None
        self.changed = False

    def arrange(
        self,
        queries: Iterable[RunningQuery],
        latest: int | None,
        evaluated: int,
        *,
        whole: bool = True,
        anew: bool = False,
    ) -> list[RunningTree]:
        """The trees of these queries. They are all that still run, unless they are not the `whole`.

        `latest`: the latest event time that others have seen; `anew`: rows come from the beginning, so
        that new queries cannot join trees that have seen some.
        """
        running = {query.stored.id: query for query in queries}
        trees = self._known(running)
        placed = {number for tree in trees.values() for number in tree.members}
        if whole and placed - running.keys():
            self.leave(placed - running.keys(), evaluated)
        fresh = [query for number, query in running.items() if number not in placed]
        if fresh:
            self.changed = True
            self._plant(fresh, None if anew else latest, evaluated, anew=anew)
        return [tree for tree in trees.values() if not tree.members.keys().isdisjoint(running)]

    def leave(self, queries: Iterable[int], evaluated: int) -> None:
        """Let queries go; trees without any are no more."""
        gone = set(queries)
        trees = self._trees or {}
        for tree in list(trees.values()):
            if not gone.isdisjoint(tree.members):
                self.changed = True
                left = {number: member for number, member in tree.members.items() if number not in gone}
                tree.rearrange(left, evaluated)
                if not left:
                    del trees[tree.id]

    def _known(self, running: dict[int, RunningQuery]) -> dict[int, RunningTree]:
        if self._trees is None:
            self._trees = {}
            for number, shared, query, joined, until in self._home.catalog.members(self._stream):
                if query not in running:
                    self.changed = True
                    continue
                tree = self._trees.setdefault(number, RunningTree(number, {}, bool(shared)))
                tree.members[query] = Membership(running[query], joined, until)
        for tree in self._trees.values():
            for number, member in tree.members.items():
                if number in running and member.query is not running[number]:  # registered again
                    tree.members[number] = replace(member, query=running[number])
                    tree.state = None
        return self._trees

    def _plant(self, fresh: list[RunningQuery], latest: int | None, evaluated: int, *, anew: bool) -> None:
        assert self._trees is not None
        by_class: dict[Hashable, list[RunningTree]] = {}
        if not anew:
            for tree in self._trees.values():
                alike = sharing_class(tree.queries[0].plan)
                if alike is not None:
                    by_class.setdefault(alike, []).append(tree)
        joining: dict[int, list[RunningQuery]] = {}
        for query in fresh:
            query.stored = replace(query.stored, complete_after=latest)
            alike = sharing_class(query.plan)
            candidates = by_class.setdefault(alike, []) if alike is not None else []
            if not candidates:
                candidates.append(RunningTree(self._home.new_tree(), {}))
            joining.setdefault(candidates[0].id, []).append(query)
            self._trees.setdefault(candidates[0].id, candidates[0])
        for number, queries in joining.items():
            tree = self._trees[number]
            past = _Past(tree, evaluated) if tree.members else None
            for query in queries:
                since = past.complete_after(query) if past is not None else None
                if since is not None and latest is not None and since < latest:
                    query.stored = replace(query.stored, complete_after=since)
            members = {query.stored.id: Membership(query, query.stored.complete_after) for query in queries}
            tree.rearrange(tree.members | members, evaluated)


class _Past:
    """What the slices of a tree can tell about the time before a query came."""

    def __init__(self, tree: RunningTree, evaluated: int) -> None:
        self._combs: dict[Comb, int] = {}
        self._partials: dict[Partial, int] = {}
        self._held_from = evaluated
        for member in tree.members.values():
            plan, window = member.query.plan, member.window
            since = BEGINNING if member.joined is None else member.joined
            for comb in slices(window).cuts.combs:
                self._combs[comb] = min(since, self._combs.get(comb, since))
            for partial in (partial for item in plan.aggregates for partial in item.partials):
                self._partials[partial] = min(since, self._partials.get(partial, since))
            if evaluated > BEGINNING:
                self._held_from = min(
                    self._held_from, window.first_evaluation_after(evaluated) - window.range
                )

    def complete_after(self, query: RunningQuery) -> int | None:
        """Windows of the query that begin later than this could be answered; None: no window could."""
        window = query.plan.window
        assert not isinstance(window, RowWindow)
        needed = [self._cut_since(comb) for comb in slices(window).cuts.combs]
        needed += [self._partials.get(p) for item in query.plan.aggregates for p in item.partials]
        known = [since for since in needed if since is not None]
        if len(known) < len(needed):
            return None
        return max(self._held_from - 1, *known)

    def _cut_since(self, comb: Comb) -> int | None:
        if comb in self._combs:
            return self._combs[comb]
        return min((since for held, since in self._combs.items() if held.covers(comb)), default=None)
