"""The cuts that Spark SQL computes are the ones that NumPy computes."""

from __future__ import annotations

import numpy as np

from windrow.slicing import Window, cuts_for_pass


def test_sql_and_numpy_agree(spark):
    instants = np.random.default_rng(3).integers(-(10**13), 10**13, 500)
    frame = spark.createDataFrame([(int(t),) for t in instants], "us BIGINT")
    for shared in (
        [Window(6_000_000, 1_000_000, 250_000)],
        [Window(10_000_000, 3_000_001)],
        [Window(7_000_000, 7_000_000), Window(11_000_000, 11_000_000, 5)],
    ):
        cuts = cuts_for_pass(shared)
        rows = frame.selectExpr("us", f"{cuts.slice_start_sql('us')} AS start").toPandas()
        assert (rows["start"].to_numpy() == cuts.slice_starts(rows["us"].to_numpy())).all()
