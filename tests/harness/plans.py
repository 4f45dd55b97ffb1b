"""Queries and streams as an engine has bound them, and the trees that the queries share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

from tests.harness.faults import MAKING_A_STAGE, disturbed


def plans_of(engine):
    """The bound queries of an engine, by name."""
    return {name: query.plan for name, query in engine._queries.items()}


def asking_for(engine, shared):
    """The names of the queries whose rows and groups a pass over a batch is for."""
    asked = {(d.where, d.enrichments, d.keys) for d in shared.demands.values()}
    plans = {query.stored.name: query.plan for query in engine._queries.values()}
    return [name for name, plan in plans.items() if (plan.where, plan.enrichments, plan.keys) in asked]


def declared_stream(engine, name):
    """A stream as it was declared, durations in microseconds."""
    return engine._relations.stream(name)


def wait_for_plans(engine):
    """Wait until the plans that are made in the background are made; the next epoch has them."""
    streams = engine._running.streams
    for name in streams.names():
        streams.staging(name).planning.replanner.wait()


def cost_of_trees(engine):
    """What the trees of an engine that has run cost, in seconds a second, by stream."""
    costs = {}
    for operator in engine._plan.plan.operators.values():
        for stream in operator.streams:
            costs[stream] = costs.get(stream, 0.0) + operator.price.cost
    return costs


def running_plan(engine):
    """The plan that an engine runs: the one that is committed."""
    return engine._plan.plan


def tasks_asked_for(engine):
    """How many Spark tasks are to hold the trees: as the engine was told, or 1 since tasks have failed."""
    return engine._plan.settings.nodes


def stages_asked_for_at_once(engine, stream):
    """What two threads get that ask for the stage of a stream, the second while the first one's is made."""
    ask, asked = engine._running.streams.staging, []
    with ThreadPoolExecutor(1) as second:

        def ask_too(number, call, *_):
            if number == 1:
                asked.append(second.submit(ask, stream))
                wait(asked, timeout=0.2)  # time enough to be given another; whoever has to wait gets none
            return call()

        with disturbed(MAKING_A_STAGE, ask_too):
            return ask(stream), asked[0].result()
