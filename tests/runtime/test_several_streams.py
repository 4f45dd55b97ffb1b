"""A query over two streams: one operator, with the rows of both, that goes on with the slower of the two.

The answers are recomputed from all that was fed: the rows before the joint watermark.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.examples import examples
from tests.harness.faults import BEFORE_COMMIT, at_steps, once
from tests.harness.micro_batches import feeding
from tests.harness.two_streams import query_both
from tests.runtime.test_plan_records import assert_same
from tests.streams import Files, events, same_events

LEFT, RIGHT = "left_ones", "right_ones"
SELECTS = (f"SELECT ts, k, v FROM {LEFT}", f"SELECT ts, k, v FROM {RIGHT} WHERE v > 0")
DELAY = 2


def engine_in(spark, path):
    made = windrow.Engine(path / "home", spark=spark, nodes=1)
    for name in (LEFT, RIGHT):
        files = Files(spark, path / name)
        files.add(0, 1)  # batches are fed by hand
        made.stream(name, files.path, timestamp="ts", delay=f"{DELAY} seconds")
    return made


@pytest.fixture
def engine(spark, tmp_path):
    with engine_in(spark, tmp_path) as made:
        query_both(made, "both", *SELECTS)
        yield made


def due(left, right, until=None):
    """The rows of both streams, of so many seconds each, that are before the watermark of a stream that has
    come to a second (None: all): milliseconds and values, in order."""
    until = 10**9 if until is None else 1000 * until - 100 - 1000 * DELAY
    rows = []
    for seconds, least in ((left, -2), (right, 0)):
        table = same_events(0, seconds)
        times = (round(1000 * when.timestamp()) for when in table["ts"].to_pylist())
        rows += [
            (t, v) for t, v in zip(times, table["v"].to_pylist(), strict=True) if v > least and t < until
        ]
    return sorted(rows)


def answered(engine):
    rows = engine.results("both").collect()
    return sorted((round(1000 * row.ts.timestamp()), row.v) for row in rows)


def test_the_slower_stream_says_what_is_answered(spark, engine):
    with feeding(engine, LEFT, RIGHT) as feed:
        feed.together({LEFT: (events(spark, 0, 10), 0)})
        assert answered(engine) == []  # the other has shown nothing yet
        feed.together({RIGHT: (events(spark, 0, 5), 0)})
        assert answered(engine) == due(10, 5, 5)
        feed.together({RIGHT: (events(spark, 5, 20), 1)})
        assert answered(engine) == due(10, 20, 10)
        (operator,) = feed.plan.operators.values()
        assert operator.streams == (LEFT, RIGHT)
        assert [len(read.passes) for read in feed.plan.inputs.values()] == [1, 1]


def test_rows_of_one_epoch_are_all_taken_in_before_time_goes_on(spark, engine):
    with feeding(engine, LEFT, RIGHT) as feed:
        feed.together({LEFT: (events(spark, 0, 10), 0), RIGHT: (events(spark, 0, 12), 0)})
        assert answered(engine) == due(10, 12, 10)
        (told,) = engine.status().queries
        assert (told.stream, told.answers) == (f"{LEFT}, {RIGHT}", len(due(10, 12, 10)))


@pytest.mark.parametrize("first", [LEFT, RIGHT])
def test_batches_that_were_staged_side_by_side_are_for_one_operator(spark, engine, first):
    """Neither knows of the other's plan, and whichever is committed first, nothing is missing."""
    second = RIGHT if first == LEFT else LEFT
    with feeding(engine, LEFT, RIGHT) as feed:
        with feed.staged({LEFT: (events(spark, 0, 10), 0), RIGHT: (events(spark, 0, 12), 0)}) as commit:
            commit(first)
            commit(second)
        assert answered(engine) == due(10, 12, 10)
        assert len(feed.plan.operators) == 1
        assert_same(feed.plan_in_the_home(), feed.plan)


def test_a_batch_that_was_staged_before_the_query_came_leaves_its_operator_alone(spark, engine):
    engine.query("hot", f"SELECT ts, v FROM {RIGHT} WHERE v > 0.5")
    engine.query("cold", f"SELECT ts, v FROM {LEFT} WHERE v < -0.5")
    engine.drop("both")
    with feeding(engine, LEFT, RIGHT) as feed:
        with feed.staged({RIGHT: (events(spark, 0, 5), 0)}) as commit_right:
            query_both(engine, "both", *SELECTS)
            with feed.staged({LEFT: (events(spark, 0, 10), 0)}) as commit_left:
                commit_left(LEFT)
            commit_right(RIGHT)
        assert len(feed.plan.operators) == 3
        feed.together({RIGHT: (events(spark, 5, 20), 1)})
        # The query came with the first batch of the left stream, and the second of the right.
        later = [row for row in due(0, 20, 10) if row[0] >= 5000]
        assert answered(engine) == sorted([*due(10, 0, 10), *later])


def test_a_stream_that_is_sealed_holds_nothing_back_and_the_query_ends_with_the_last(spark, engine):
    with feeding(engine, LEFT, RIGHT) as feed:
        feed.together({LEFT: (events(spark, 0, 10), 0), RIGHT: (events(spark, 0, 20), 0)})
        feed.seal(LEFT)
        assert answered(engine) == due(10, 20, 20)
        assert not engine.status().queries[0].sealed
        feed.seal(RIGHT)
        assert answered(engine) == due(10, 20)
        assert engine.status().queries[0].sealed
        assert not feed.plan.operators


@pytest.mark.parametrize("step", BEFORE_COMMIT)
def test_a_failed_epoch_leaves_plan_and_state_as_the_home_has_them(spark, engine, step):
    def fail():
        raise ZeroDivisionError("not now")

    with feeding(engine, LEFT, RIGHT) as feed:
        feed.together({LEFT: (events(spark, 0, 10), 0), RIGHT: (events(spark, 0, 5), 0)})
        before = feed.plan
        more = {LEFT: (events(spark, 10, 15), 1), RIGHT: (events(spark, 5, 12), 1)}
        with at_steps(once(step, fail)), pytest.raises(ZeroDivisionError):
            feed.together(more)
        assert feed.plan is before
        assert_same(feed.plan_in_the_home(), before)
        assert answered(engine) == due(10, 5, 5)
        feed.together(more)
        feed.check_states()
        assert answered(engine) == due(15, 12, 12)


@settings(max_examples=examples(5))
@given(
    st.lists(
        st.tuples(st.sampled_from(["left", "right", "both", "side by side"]), st.booleans()),
        min_size=3,
        max_size=6,
    )
)
def test_answers_do_not_depend_on_the_epochs(spark, tmp_path_factory, steps):
    """Whatever streams move together, and however often an engine begins again in between."""
    path = tmp_path_factory.mktemp("streams")
    with engine_in(spark, path) as engine:
        query_both(engine, "both", *SELECTS)
        at, numbers = {LEFT: 0, RIGHT: 0}, {LEFT: 0, RIGHT: 0}

        def batch(stream):
            seconds = 5 if stream == LEFT else 7
            first, number = at[stream], numbers[stream]
            at[stream], numbers[stream] = first + seconds, number + 1
            return events(spark, first, first + seconds), number

        held = feeding(engine, LEFT, RIGHT)
        feed = held.__enter__()
        for who, restarts in steps:
            moving = {"left": [LEFT], "right": [RIGHT]}.get(who, [LEFT, RIGHT])
            batches = {stream: batch(stream) for stream in moving}
            if who == "side by side":
                with feed.staged(batches) as commit:
                    commit(RIGHT)
                    commit(LEFT)
            else:
                feed.together(batches)
            until = min(at.values())
            assert answered(engine) == (due(at[LEFT], at[RIGHT], until) if until else [])
            if restarts:
                held.__exit__(None, None, None)
                held = feeding(engine, LEFT, RIGHT)
                feed = held.__enter__()
        held.__exit__(None, None, None)


def test_a_query_that_the_home_has_keeps_its_state_though_another_stream_commits_while_it_is_found(
    spark, tmp_path
):
    """An engine is told of it while an epoch that does not know of it is under way."""
    counts = f"SELECT COUNT(*) AS n FROM {RIGHT} [RANGE 10 SECONDS SLIDE 5 SECONDS]"
    with engine_in(spark, tmp_path) as engine:
        engine.query("here", f"SELECT ts, v FROM {LEFT}")
        engine.query("elsewhere", counts)
        with feeding(engine, LEFT, RIGHT) as feed:
            feed.together({RIGHT: (events(spark, 0, 9), 0)})
            (operator,) = feed.plan.operators
        with feeding(engine, LEFT, RIGHT) as feed, ExitStack() as later:
            tell = feed.not_told_of("elsewhere")
            commits = []

            def comes():
                tell()
                commits.append(later.enter_context(feed.staged({RIGHT: (events(spark, 9, 20), 1)})))

            with (
                feed.staged({LEFT: (events(spark, 0, 10), 0)}) as commit,
                at_steps(once("queries answered", comes)),
            ):
                commit(LEFT)
            assert operator in feed.plan_in_the_home().operators
            commits[0](RIGHT)
            assert_same(feed.plan_in_the_home(), feed.plan)
        answers = engine.results("elsewhere").orderBy("window_end").collect()
        assert [(row.window_end.timestamp(), row.n) for row in answers] == [(5, 50), (10, 100), (15, 100)]
