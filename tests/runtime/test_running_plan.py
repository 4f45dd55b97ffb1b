"""The plan that is shown is the one that runs, the one in the home, and the one that is left when an epoch fails."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.examples import examples
from tests.harness.faults import BEFORE_COMMIT, at_steps, once
from tests.harness.micro_batches import feeding
from tests.harness.plans import running_plan, wait_for_plans
from tests.runtime.test_plan_records import assert_same
from tests.streams import Files, events

QUERIES = {
    "sums": "SELECT SUM(v) AS total FROM events [RANGE 20 SECONDS SLIDE 5 SECONDS]",
    "most": "SELECT MAX(v) AS most FROM events [RANGE 21 SECONDS SLIDE 7 SECONDS]",
    "by_k": "SELECT k, COUNT(*) AS n FROM events [RANGE 12 SECONDS SLIDE 3 SECONDS] GROUP BY k",
    "few": "SELECT k, SUM(v) AS total FROM events [RANGE 8 SECONDS SLIDE 4 SECONDS] WHERE v > 0 GROUP BY k",
    "middle": "SELECT MEDIAN(v) AS m FROM events [RANGE 10 SECONDS SLIDE 5 SECONDS]",
    "rows": "SELECT AVG(v) AS a FROM events [ROWS 40 SLIDE 15]",
    "hot": "SELECT ts, v FROM events WHERE v > 0.5",
    "all": "SELECT * FROM events",
    "computed": "SELECT SUM(v) * 2 AS twice FROM events [RANGE 6 SECONDS SLIDE 3 SECONDS]",
}


def engine_on(files, home):
    engine = windrow.Engine(home, spark=files.spark, nodes=1)
    engine.stream(
        "events", files.path, timestamp="ts", delay="2 seconds", options={"maxFilesPerTrigger": "1"}
    )
    return engine


@pytest.mark.parametrize("nodes", [1, 2])
def test_what_is_explained_before_a_run_is_what_the_first_epoch_runs(spark, tmp_path, nodes):
    files = Files(spark, tmp_path / "in")
    files.add(0, 15)
    with windrow.Engine(tmp_path / "home", spark=spark, nodes=nodes) as engine:
        engine.stream("events", files.path, timestamp="ts")
        for name, sql in QUERIES.items():
            engine.query(name, sql)
        shown = engine.explain().plan
        engine.run(seal=False)
        assert_same(running_plan(engine), shown)


@settings(max_examples=examples(4))
@given(st.lists(st.sets(st.sampled_from(sorted(QUERIES)), min_size=1), min_size=2, max_size=4))
def test_the_plan_that_is_shown_is_the_one_that_runs(spark, tmp_path_factory, rounds):
    """However queries come and go; and another engine that opens the home goes on with it."""
    tmp_path = tmp_path_factory.mktemp("plans")
    files = Files(spark, tmp_path / "in")
    files.add(0, 15)
    with engine_on(files, tmp_path / "home") as engine:
        for number, names in enumerate(rounds):
            for name in {*engine.queries} - names:
                engine.drop(name)
            for name in sorted(names - {*engine.queries}):
                engine.query(name, QUERIES[name])
            engine.run(seal=False)
            files.add(15 * number + 15, 15 * number + 30)
            wait_for_plans(engine)
            told = engine.explain()
            assert told.plan is running_plan(engine)
            assert {n for o in told.plan.operators.values() for n in o.members} == {
                n for o in running_plan(engine).operators.values() for n in o.members
            }
        shown, plan = engine.explain(), running_plan(engine)
    with engine_on(files, tmp_path / "home") as later:
        assert later.explain() == shown
        assert_same(running_plan(later), plan)


@pytest.mark.parametrize("step", BEFORE_COMMIT)
def test_a_failed_epoch_leaves_plan_and_states_as_the_home_has_them(spark, tmp_path, step):
    files = Files(spark, tmp_path / "in")
    files.add(0, 1)  # batches are fed by hand
    with engine_on(files, tmp_path / "home") as engine:
        for name in ("sums", "by_k", "middle", "rows", "hot"):
            engine.query(name, QUERIES[name])
        with feeding(engine, "events") as feed:
            feed.batch(events(spark, 0, 15), 0)
            feed.batch(events(spark, 15, 30), 1)
            engine.query("most", QUERIES["most"])
            engine.query("few", QUERIES["few"])
            engine.query("all", QUERIES["all"])

            def fail():
                raise ZeroDivisionError("not now")

            before, learned = feed.plan, feed.experience
            with at_steps(once(step, fail)), pytest.raises(ZeroDivisionError):
                feed.batch(events(spark, 30, 45), 2)
            assert feed.plan is before
            assert feed.experience is learned
            assert_same(feed.plan_in_the_home(), before)
            # An epoch that has begun leaves none of its states; before that they are as they were.
            assert set(feed.check_states()) == (set(before.operators) if step == "batch staged" else set())
            feed.batch(events(spark, 30, 45), 2)
            assert feed.plan is not before
            assert_same(feed.plan_in_the_home(), feed.plan)
            assert set(feed.check_states()) == set(feed.plan.operators)
