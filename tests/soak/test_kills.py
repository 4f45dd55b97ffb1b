"""Killed = never killed: results, late rows, dead letters, progress and quarantine, row by row."""

from __future__ import annotations

import pytest

from tests.soak.breakages import BREAKAGES, broken
from tests.soak.child import QUICK
from tests.soak.contents import contents
from tests.soak.harness import Kill, judge, play_with_kills
from tests.soak.interruptions import BEFORE_COMMIT, COMPACTION, ROUNDS, Interruptions
from tests.soak.scenario import SHORT, SHORT_IN_TASKS, STORY, compact_often, play
from windrow.runtime import compaction, faults, home

CHAIN = (
    Kill("compaction written", 1),
    Kill("compaction committed", 1),
    Kill("batch staged", 1),
    Kill("queries answered", 2),
    Kill("files written", 1),
    Kill("files forced to disk", 1),
    Kill("transaction open", 1),
    Kill("epoch committed", 1),
    Kill("old files removed", 2),
    Kill("answers delivered", 1),
    Kill("compacted files removed", 2),
    Kill(seconds=5.0),
)


@pytest.fixture(scope="module", autouse=True)
def compacting_often():
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((compaction, "FAN"), (home, "GRACE_SECONDS"), (home, "GRACE_FILES")):
            patch.setattr(module, name, getattr(module, name))  # put back in the end
        compact_often()
        yield


@pytest.fixture(scope="module", autouse=True)
def quick(spark):
    """As the processes that are killed: it is the steps that count, and the statements are compiled elsewhere."""
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    yield
    for name in QUICK:
        spark.conf.unset(name)


@pytest.fixture(scope="module")
def truth(spark, tmp_path_factory):
    directory = tmp_path_factory.mktemp("never-killed")
    play(STORY, directory, spark)
    return contents(directory / "home")


def test_the_story_has_what_can_go_wrong(truth):
    """A comparison of nothing with nothing would hold, too."""
    assert all(table.total() for table in truth.tables.values())
    assert {"late rows of readings", "late rows of orders"} <= truth.tables.keys()
    assert {"dead rows of readings", "dead rows of orders"} <= truth.tables.keys()
    quarantined = [row for row in truth.queries if "Division by zero" in str(row)]
    assert [row[0] for row in quarantined] == ["ratio"]
    heartbeats = [row for row in truth.epochs if row[2] is None]
    assert len(heartbeats) > 3


def test_killed_at_every_step(truth, tmp_path):
    assert {kill.step for kill in CHAIN} >= set(faults.STEPS)
    done = list(play_with_kills(tmp_path, CHAIN))
    assert [kill for kill in CHAIN if kill not in done] == [], "the story was over before these"
    assert judge(truth, tmp_path) == []


@pytest.fixture(scope="module")
def short_truth(spark, tmp_path_factory):
    directory = tmp_path_factory.mktemp("never-interrupted")
    play(SHORT, directory, spark)
    return contents(directory / "home")


@pytest.mark.parametrize("steps", ROUNDS, ids=lambda steps: steps[-1])
def test_interrupted_at_every_step_of_the_first_a_middle_and_the_last_epoch(
    steps, short_truth, spark, tmp_path, monkeypatch
):
    interruptions = Interruptions(steps)
    monkeypatch.setattr(compaction, "FAN", 2)  # due in every phase
    interruptions.play(tmp_path, spark)
    expected = {
        (phase, step)
        for phase in range(len(SHORT.phases))
        for step in set(steps) - set(COMPACTION)
        if not (step == "batch staged" and phase == 2)  # the seal is an epoch without a batch
    }
    assert set(interruptions.done) >= expected
    assert {step for _, step in interruptions.done} == set(steps)
    assert judge(short_truth, tmp_path) == []


@pytest.mark.parametrize(
    "steps", [BEFORE_COMMIT, ("epoch committed",), ("old files removed",)], ids=lambda s: s[-1]
)
def test_an_engine_that_was_interrupted_goes_on(steps, short_truth, spark, tmp_path):
    """The same engine, with what it had in memory, when a run is asked for again."""
    interruptions = Interruptions(steps)
    interruptions.play(tmp_path, spark, same_engine=True)
    assert {step for _, step in interruptions.done} == set(steps)
    assert judge(short_truth, tmp_path) == []


@pytest.mark.parametrize("same_engine", [True, False])
def test_interrupted_while_spark_tasks_hold_trees(same_engine, spark, tmp_path):
    """What they hold is then a step ahead of what was committed, or not there for another engine."""
    play(SHORT_IN_TASKS, tmp_path / "never", spark)
    steps = ("queries answered", "transaction open", "epoch committed")
    interruptions = Interruptions(steps, SHORT_IN_TASKS)
    interruptions.play(tmp_path / "often", spark, same_engine=same_engine)
    assert {step for _, step in interruptions.done} == set(steps)
    assert judge(contents(tmp_path / "never" / "home"), tmp_path / "often") == []


def test_every_step_is_in_a_round():
    assert {step for steps in ROUNDS for step in steps} == set(faults.STEPS)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_every_breakage_of_the_proof_still_breaks_something(breakage):
    """`script/soak --prove` runs them; here, that the engine still has what they break."""
    with broken(breakage):
        pass
