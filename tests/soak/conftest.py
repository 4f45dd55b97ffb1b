"""How stories are played in the session of the tests: with housekeeping all the time, and nothing compiled."""

from __future__ import annotations

import pytest

from tests.soak.child import QUICK
from tests.soak.scenario import compact_often
from windrow.runtime.home import compaction, home


@pytest.fixture(scope="module", autouse=True)
def compacting_often():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "FAN", compaction.FAN)  # put back in the end
        for name in ("GRACE_SECONDS", "GRACE_FILES", "LEAST_GRACE_SECONDS"):
            patch.setattr(home, name, getattr(home, name))
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
