"""What is noted of an epoch's answers: the last evaluation is the latest in time, whoever answers it first."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.runtime.home.results import ResultWriter
from windrow.runtime.state.answering import Answering

INSTANT = pa.timestamp("us", "UTC")
QUERY = 7


def rows(*ends):
    """One answer of the query for each end of a window; it has the end as its value, too."""
    ends = pa.array(ends, pa.int64())
    times = ends.cast(INSTANT)
    whose = pa.array([QUERY] * len(ends), pa.int32())
    return pa.table({"window_start": times, "window_end": times, "n": ends, "_query": whose})


@pytest.fixture
def answering(tmp_path):
    results = ResultWriter(tmp_path, epoch=0)
    yield lambda: Answering(results, watched=True)
    results.abandon()


def noted(answering):
    answered = answering.by_query[QUERY]
    return answered.count, answered.latest_end, answered.last["n"].to_pylist()


@pytest.mark.parametrize("latest", [30, 0])
def test_a_query_that_moves_may_be_answered_by_its_new_operator_first(answering, latest):
    here = answering()
    here.take("schema", rows(latest - 10, latest, latest))
    here.take("schema", rows(latest - 20))
    assert noted(here) == (4, latest, [latest, latest])
    here.take("schema", rows(latest + 10))
    assert noted(here) == (5, latest + 10, [latest + 10])


@pytest.mark.parametrize("latest", [30, 0])
def test_a_query_that_moves_may_be_answered_elsewhere(answering, latest):
    here, earlier, later = answering(), answering(), answering()
    here.take("schema", rows(latest))
    earlier.take("schema", rows(latest - 10))
    later.take("schema", rows(latest + 10))
    here.add(earlier.by_query)
    assert noted(here) == (2, latest, [latest])
    here.add(later.by_query)
    assert noted(here) == (3, latest + 10, [latest + 10])
    afresh = answering()
    afresh.add(here.by_query)
    assert noted(afresh) == noted(here)
