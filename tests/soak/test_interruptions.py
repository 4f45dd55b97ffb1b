"""Interrupted = never interrupted: at exact places of the commit protocol, by exceptions instead of kills."""

from __future__ import annotations

import pytest

from tests.harness.faults import COMPACTION, IN_AN_EPOCH, STEPS
from tests.soak.contents import contents
from tests.soak.interruptions import ROUNDS, Interruptions
from tests.soak.kills import judge
from tests.soak.scenario import SHORT, SHORT_IN_TASKS, play
from windrow.runtime.home import compaction
from windrow.runtime.spark import patience


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


def test_an_engine_that_was_interrupted_goes_on(short_truth, spark, tmp_path):
    """The same engine, with what it had in memory, when a run is asked for again."""
    steps = ("queries answered", "transaction open", "epoch committed", "old files removed")
    interruptions = Interruptions(steps)
    interruptions.play(tmp_path, spark, same_engine=True)
    assert {step for _, step in interruptions.done} == set(steps)
    assert judge(short_truth, tmp_path) == []


def test_a_disk_that_fails_for_a_moment_in_every_step_of_an_epoch(short_truth, spark, tmp_path, monkeypatch):
    """The engine tries again by itself, from the states of the last commit."""
    monkeypatch.setattr(patience, "PAUSES", (0.0,) * len(IN_AN_EPOCH))
    interruptions = Interruptions(IN_AN_EPOCH, passing=True)
    interruptions.play(tmp_path, spark)
    phases = range(len(SHORT.phases))
    assert set(interruptions.done) == {(phase, step) for phase in phases for step in IN_AN_EPOCH}
    assert judge(short_truth, tmp_path) == []


@pytest.mark.parametrize("same_engine", [True, False])
def test_interrupted_while_spark_tasks_hold_trees(same_engine, short_truth, spark, tmp_path):
    """What they hold is then a step ahead of what was committed, or not there for another engine; the answers
    are those of a driver that holds the trees."""
    steps = ("queries answered", "epoch committed")
    interruptions = Interruptions(steps, SHORT_IN_TASKS)
    interruptions.play(tmp_path, spark, same_engine=same_engine)
    assert {step for _, step in interruptions.done} == set(steps)
    assert judge(short_truth, tmp_path) == []


def test_every_step_is_in_a_round():
    assert {step for steps in ROUNDS for step in steps} == set(STEPS)
