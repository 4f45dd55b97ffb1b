"""What `Engine.explain` shows: the plan in which the queries of an engine would run with the next epoch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.explain import explain
from windrow.final import Costs
from windrow.planner.planning import plan
from windrow.planner.sharing import Constants

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from windrow.api.streams import Streams
    from windrow.explain import Explanation
    from windrow.planner.plan import PhysicalPlan
    from windrow.planner.settings import Settings
    from windrow.runtime.state.current_plan import CurrentPlan
    from windrow.runtime.state.queries import RunningQuery


def explain_all(
    streams: Streams, current: CurrentPlan, *, costs: str | os.PathLike[str] | None, sql: bool
) -> Explanation:
    """The plan of all queries, explained, by the prices of the engine or by those in a file."""
    queries = [query for query in streams.queries() if query.stored.quarantined is None]
    held = {
        query.stored.name: f"{query.stored.quarantined} (epoch {query.stored.quarantined_epoch})"
        for query in streams.queries()
        if query.stored.quarantined is not None
    }
    settings, running = current.settings, current.plan
    if costs is not None:
        settings = replace(settings, costs=Costs.read(costs), constants=Constants.read(costs))
    made = next_plan(streams, current, queries, settings, anew=costs is not None)
    return explain(made, running, held, costs=settings.costs, sql=sql)


def next_plan(
    streams: Streams, current: CurrentPlan, queries: Sequence[RunningQuery], settings: Settings, *, anew: bool
) -> PhysicalPlan:
    """The plan in which queries would run with the next epoch: the one that runs, if nothing changes.

    `anew`: with other algorithms, passes and prices, as the settings say.
    """
    made = current.plan
    if anew:
        operators = {n: replace(o, choices=None, structures=()) for n, o in made.operators.items()}
        made = replace(
            made,
            operators=operators,
            inputs={stream: replace(read, passes=()) for stream, read in made.inputs.items()},
        )
    by_stream: dict[str, list[RunningQuery]] = {}
    for query in queries:
        for stream in query.plan.streams:
            by_stream.setdefault(stream, []).append(query)
    for stream, some in by_stream.items():
        asked, staging = [query.asked for query in some], streams.staging(stream)
        observed = staging.planning.observed(staging.progress)
        if stream in made.inputs:  # what has been learned since counts when a query comes or goes
            observed = replace(observed, experience=made.inputs[stream].experience)
        made = plan(stream, asked, observed, settings, made, look=False)
    return made
