"""All trees of one stream: queries find their tree when they come, and leave it when they go.

A query that comes while the stream runs is answered from what its tree holds already, as far back as
every cut and every partial that it needs has been made; otherwise from the windows that begin after the
latest event time seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.operators.aggregate.window_aggregate import BEGINNING, END_OF_TIME
from windrow.planner import sharing_class
from windrow.planner.sharing import Weaver, planning_seconds
from windrow.runtime.state.reweaving import Reweaving, matched
from windrow.runtime.state.spreading import Spreading
from windrow.runtime.state.tree_state import AwayState, SharedState
from windrow.runtime.state.trees import Membership, RunningTree
from windrow.slicing import RowWindow, slices

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from windrow.aggregates import Partial
    from windrow.planner.sharing import Tree
    from windrow.runtime.home.home import Home
    from windrow.runtime.settings import EngineSettings
    from windrow.runtime.state.trees import RunningQuery
    from windrow.slicing import Comb, Window


class Forest:
    """The trees of a stream, as the catalog has them and as the next epoch will."""

    def __init__(self, home: Home, stream: str, settings: EngineSettings) -> None:
        self._home = home
        self._settings = settings
        self._stream = stream
        self._trees: dict[int, RunningTree] | None = None
        self._planned: dict[int, Tree] = {}
        self._separated: dict[Hashable, tuple[list[Tree], bool]] = {}
        self.reweaving = Reweaving()
        self._spreading = Spreading(home, stream, settings)
        self.changed = False
        """Whether the catalog does not know yet who is in which tree."""

    @property
    def trees(self) -> list[RunningTree]:
        """The trees that have queries."""
        return list((self._trees or {}).values())

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
        self._let_movers_go(evaluated)
        placed = {number for tree in trees.values() for number in tree.members}
        gone = placed - running.keys() if whole else set()
        if gone:
            self.leave(gone, evaluated)
        fresh = [query for number, query in running.items() if number not in placed]
        if fresh:
            self.changed = True
            self._plant(fresh, latest, evaluated, anew=anew)
        if whole and not anew:
            self._reweave(latest, evaluated, changed=bool(fresh or gone))
            self._spread()
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

    def _reweave(self, latest: int | None, evaluated: int, *, changed: bool) -> None:
        """Take over plans that were made in the background; where queries came or went, make new ones."""
        if not (changed or self.reweaving.ready):
            return
        for alike, trees in self._by_class().items():
            windows = [tree.windows for tree in trees]
            planned = self.reweaving.take(alike, set().union(*windows))
            if planned is not None:
                self._take_over(trees, planned, latest, evaluated)
            elif changed and len(trees) > 1:
                self.reweaving.begin(alike, self._weaver(trees, trees[0].any_query), windows)

    def _take_over(
        self, trees: list[RunningTree], planned: list[set[Window]], latest: int | None, evaluated: int
    ) -> None:
        """Let queries move to the trees where a plan wants them."""
        self.changed = True
        goals = [tree or self._new_tree() for tree in matched(trees, planned)]
        goal_of = {window: tree for tree, windows in zip(goals, planned, strict=True) for window in windows}
        for tree in trees:
            moving = [
                m for m in tree.members.values() if m.until == END_OF_TIME and goal_of[m.window] is not tree
            ]
            if not moving:
                continue
            stay = dict(tree.members)
            for member in moving:
                number, goal = member.query.stored.id, goal_of[member.window]
                handed = member.after if latest is None else max(member.after, latest + member.window.range)
                stay[number] = replace(member, until=handed)
                joining = Membership(member.query, latest, handed)
                goal.rearrange(goal.members | {number: joining}, evaluated)
            tree.rearrange(stay, evaluated)
            self._planned.pop(tree.id, None)
        for goal in goals:
            self._planned.pop(goal.id, None)
        self._let_movers_go(evaluated)

    def _spread(self) -> None:
        """Settle trees on nodes; a class that keeps one of them busier than the rest is planned anew."""
        if not self._spreading.due(changed=self.changed):
            return
        costs: dict[int, float] = {}
        classes = self._by_class()
        for trees in classes.values():
            weaver = self._weaver(trees, trees[0].any_query)
            costs |= {tree.id: weaver.final(self._woven(tree, weaver)) for tree in trees}
        self.changed |= self._spreading.settle(self.trees, costs)
        for alike, trees in classes.items():
            windows = [tree.windows for tree in trees]
            of_trees = [costs[tree.id] for tree in trees]
            if self._spreading.wants_plan(alike, windows, of_trees, sum(costs.values())):
                weaver = self._weaver(trees, trees[0].any_query)
                if self.reweaving.begin(alike, weaver, windows):
                    self._spreading.planned(alike, windows)

    def come_home(self) -> None:
        """Let the driver hold all trees."""
        self.changed = True
        for tree in self.trees:
            tree.settle(None)

    def _let_movers_go(self, evaluated: int) -> None:
        """Queries leave their old tree when the new one answers them."""
        assert self._trees is not None
        for tree in self.trees:
            left = {n: m for n, m in tree.members.items() if m.until > evaluated}
            if len(left) < len(tree.members):
                self.changed = True
                tree.rearrange(left, evaluated)
                if not left:
                    del self._trees[tree.id]

    def groups(self, queries: Iterable[RunningQuery]) -> list[list[RunningQuery]]:
        """The queries that may share passes over the rows: all of them, unless a class is cheaper, or was
        asked to be run, with a pass for each tree."""
        apart: dict[int, int] = {}
        for alike, trees in self._by_class().items():
            # A query that moves is in two trees, and what is collected for it must be cut for both.
            moves = any(member.until < END_OF_TIME for tree in trees for member in tree.members.values())
            if len(trees) > 1 and not moves and self._separate(alike, trees):
                for place, tree in enumerate(trees[1:], start=1):
                    apart |= dict.fromkeys(tree.members, place)
        groups: dict[int, list[RunningQuery]] = {}
        for query in queries:
            groups.setdefault(apart.get(query.stored.id, 0), []).append(query)
        return list(groups.values())

    def cost(self) -> float:
        """Seconds of work that a second of the stream is expected to take, for what is shared."""
        total = 0.0
        for trees in self._by_class().values():
            weaver = self._weaver(trees, trees[0].any_query)
            total += weaver.cost([self._woven(tree, weaver) for tree in trees])
        return total

    def _separate(self, alike: Hashable, trees: list[RunningTree]) -> bool:
        """Whether each tree of a class has a pass of its own; priced only where its trees have changed."""
        woven = [self._planned.get(tree.id) for tree in trees]
        known, separate = self._separated.get(alike, ([], False))
        if woven != known:
            weaver = self._weaver(trees, trees[0].any_query)
            known = [self._woven(tree, weaver) for tree in trees]
            separate = weaver.separate(known)
            self._separated[alike] = known, separate
        return separate

    def _by_class(self) -> dict[Hashable, list[RunningTree]]:
        classes: dict[Hashable, list[RunningTree]] = {}
        for tree in self.trees:
            alike = sharing_class(tree.any_query.plan) if tree.members else None
            if alike is not None:
                classes.setdefault(alike, []).append(tree)
        return classes

    def _known(self, running: dict[int, RunningQuery]) -> dict[int, RunningTree]:
        if self._trees is None:
            self._trees = {}
            for stored in self._home.catalog.trees(self._stream):
                members: dict[int, Membership] = {}
                for kept in stored.members:
                    query = running.get(kept.query)
                    if query is None:
                        self.changed = True
                        continue
                    # A home of an earlier format does not say behind what it answers.
                    after = max(kept.after, _answered_after(query, kept.joined))
                    members[kept.query] = Membership(query, kept.joined, after, kept.until)
                if members:
                    self._trees[stored.id] = RunningTree(
                        stored.id, members, stored.shared, stored.node, costs=self._settings.now.costs
                    )
        for tree in self._trees.values():
            for number, member in tree.members.items():
                if number in running and member.query is not running[number]:  # registered again
                    tree.members[number] = replace(member, query=running[number])
                    tree.state = None
        return self._trees

    def _plant(self, fresh: list[RunningQuery], latest: int | None, evaluated: int, *, anew: bool) -> None:
        """New queries into trees, class by class."""
        by_class: dict[Hashable, list[RunningQuery]] = {}
        for query in fresh:
            query.stored = replace(query.stored, complete_after=latest)
            alike = sharing_class(query.plan)
            if alike is None:
                self._join(self._new_tree(), [query], evaluated)
            else:
                by_class.setdefault(alike, []).append(query)
        known = {} if anew else self._by_class()
        seconds = planning_seconds(len(by_class))
        for alike, queries in by_class.items():
            self._plant_class(queries, known.get(alike, []), evaluated, seconds)

    def _plant_class(
        self, fresh: list[RunningQuery], trees: list[RunningTree], evaluated: int, seconds: float
    ) -> None:
        weaver = self._weaver(trees, fresh[0])
        waiting: dict[Window, list[RunningQuery]] = {}
        for query in fresh:
            waiting.setdefault(_window(query), []).append(query)
        joining: dict[int, list[RunningQuery]] = {}
        if weaver.hint != "no_share":
            for tree in trees:
                for window in tree.windows & waiting.keys():
                    joining.setdefault(tree.id, []).extend(waiting.pop(window))
        if waiting:
            if trees:
                placed = weaver.place(list(waiting), [self._woven(tree, weaver) for tree in trees])
            else:
                asked = [window for window in waiting for _ in waiting[window]]
                placed = [(None, tree) for tree in weaver.plant(asked, seconds)]
            for place, woven in placed:
                tree = self._new_tree() if place is None else trees[place]
                self._planned[tree.id] = woven
                for window in woven.windows:
                    joining.setdefault(tree.id, []).extend(waiting.pop(window, ()))
        assert self._trees is not None
        for number, queries in joining.items():
            self._join(self._trees[number], queries, evaluated)

    def _woven(self, tree: RunningTree, weaver: Weaver) -> Tree:
        """A running tree as the optimizer sees it; windows that have gone may still be in it, and where all
        are about to go, they are."""
        if tree.id not in self._planned:
            all_windows = {member.window for member in tree.members.values()}
            self._planned[tree.id] = weaver.model.tree(tree.windows or all_windows)
        return self._planned[tree.id]

    def _join(self, tree: RunningTree, queries: list[RunningQuery], evaluated: int) -> None:
        """Queries into a tree; what it holds already may tell them of the past."""
        past = _Past(tree, evaluated) if tree.members else None
        members = {}
        for query in queries:
            since, latest = None, query.stored.complete_after
            if past is not None:
                since = past.complete_after(query)
            if since is not None and latest is not None and since < latest:
                query.stored = replace(query.stored, complete_after=since)
            joined = query.stored.complete_after
            members[query.stored.id] = Membership(query, joined, _answered_after(query, joined))
        tree.rearrange(tree.members | members, evaluated)

    def _new_tree(self) -> RunningTree:
        assert self._trees is not None
        tree = RunningTree(self._home.catalog.new_tree(), {}, costs=self._settings.now.costs)
        self._trees[tree.id] = tree
        return tree

    def _weaver(self, trees: list[RunningTree], query: RunningQuery) -> Weaver:
        states = [tree.state for tree in trees if isinstance(tree.state, SharedState | AwayState)]
        known = [state.operator.groups_known for state in states if state.operator.groups_known]
        return Weaver.of(
            self._home.catalog.rate(self._stream),
            max(known, default=None),
            grouped=bool(query.plan.keys),
            hint=self._settings.now.optimizer,
            nodes=self._spreading.nodes,
            constants=self._settings.now.constants,
        )


def _answered_after(query: RunningQuery, joined: int | None) -> int:
    """The last evaluation whose window began before a query had joined, or that it has answered: one that
    comes back from quarantine may find slices of windows that it has had."""
    if joined is None or isinstance(query.plan.window, RowWindow):
        return BEGINNING
    latest = query.stored.latest_end
    return max(joined + query.plan.window.range, BEGINNING if latest is None else latest)


def _window(query: RunningQuery) -> Window:
    assert not isinstance(query.plan.window, RowWindow)
    return query.plan.window


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
                following = window.first_evaluation_after(max(evaluated, member.after))
                if following <= member.until:  # as the operator reckons what it holds
                    self._held_from = min(self._held_from, following - window.range)

    def complete_after(self, query: RunningQuery) -> int | None:
        """Windows of the query that begin later than this could be answered; None: no window could."""
        window = _window(query)
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
