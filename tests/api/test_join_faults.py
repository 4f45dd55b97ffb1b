"""A join that meets too much, or whose condition fails, is set aside alone, and says why; the others go on."""

from __future__ import annotations

import pandas as pd
import pytest

import windrow
from windrow.errors import QueryFailed, WindrowError

PAIRS = "SELECT a.v, b.v AS w FROM a [RANGE 10 SECONDS] JOIN b [RANGE 10 SECONDS] ON a.k = b.k"
FAILING = f"{PAIRS} AND a.v / b.v > 0"
OTHER = "SELECT a.k, COUNT(*) AS n FROM a [RANGE 10 SECONDS SLIDE 10 SECONDS] JOIN b [RANGE 10 SECONDS SLIDE 10 SECONDS] ON a.v = b.v GROUP BY a.k"


def engine_over(spark, **options):
    engine = windrow.Engine(spark=spark, nodes=1, **options)
    for name, values in (("a", range(1, 7)), ("b", range(6))):
        rows = pd.DataFrame(
            {"ts": pd.to_datetime(range(6), unit="s"), "k": ["x", "y", "x"] * 2, "v": list(values)}
        )
        engine.stream(name, spark.createDataFrame(rows), timestamp="ts")
    return engine


@pytest.mark.parametrize(
    ("sql", "most_pairs", "said"),
    [(PAIRS, 3, "more than 3 rows for one row, with b.k = 'x'"), (FAILING, 4, "Division by zero")],
    ids=["too many pairs", "a condition that fails"],
)
def test_a_join_that_fails_is_set_aside_alone(spark, sql, most_pairs, said):
    with engine_over(spark, most_pairs=most_pairs) as engine:
        engine.query("bad", sql)
        engine.query("good", OTHER)
        with pytest.raises(QueryFailed) as caught:
            engine.run()
        assert said in str(caught.value)
        states = {query.name: query.quarantined for query in engine.status().queries}
        assert said in states["bad"]
        assert states["good"] is None
        assert engine.results("bad").count() == 0
        assert sum(row.n for row in engine.results("good").collect()) > 0


def test_a_bound_that_is_kept_changes_nothing(spark):
    with engine_over(spark, most_pairs=4) as engine:
        engine.query("pairs", PAIRS)
        engine.run()
        assert engine.results("pairs").count() == 4 * 4 + 2 * 2


@pytest.mark.parametrize("name", ["most_pairs", "most_waiting"])
def test_a_bound_is_a_number_of_rows(spark, name):
    with pytest.raises(WindrowError, match=f"{name} is a number of rows, 1 or more, and not 0"):
        windrow.Engine(spark=spark, **{name: 0})
