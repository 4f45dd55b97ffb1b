"""Killed = never killed: results, late rows, dead letters, progress and quarantine, row by row."""

from __future__ import annotations

import pytest

from tests.harness.breakages import BREAKAGES, broken
from tests.harness.faults import STEPS
from tests.soak.child import DISTURBANCES, ENDS
from tests.soak.contents import contents
from tests.soak.kills import DAMAGES, Kill, judge, play_with_kills
from tests.soak.scenario import STORY, play

CHAIN = (
    Kill("compaction written", 1, disturbance="jobs cancelled"),
    Kill("compaction committed", 1, damage="checkpoint of another moment"),
    Kill("files written", 1, damage="checkpoint cut short"),
    Kill("transaction open", 1, disturbance="suspended"),
    Kill("files forced to disk", 1, end="the JVM dies"),
    Kill("epoch committed", 1),
    Kill("queries answered", 1, end="a second writer"),
    Kill("old files removed", 2, damage="checkpoint cut short"),
    Kill("answers delivered", 1),
    Kill("compacted files removed", 2),
)
NOTHING_NEW = {"batch staged"}
"""Where a kill leaves what it leaves a step later: everything is in memory. Interruptions stop there, too;
`script/soak` kills there."""


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


def test_killed_at_every_step_that_leaves_something_else(truth, tmp_path):
    assert {kill.step for kill in CHAIN} | NOTHING_NEW == set(STEPS)
    kinds = {kind for kill in CHAIN for kind in kill.kinds}
    assert kinds >= {*ENDS, *DISTURBANCES, *DAMAGES}
    done = list(play_with_kills(tmp_path, CHAIN))
    assert [kill for kill in CHAIN if kill not in done] == [], "the story was over before these"
    assert judge(truth, tmp_path) == []


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_every_breakage_of_the_proof_still_breaks_something(breakage):
    """`script/soak --prove` runs them; here, that the engine still has what they break."""
    with broken(breakage):
        pass
