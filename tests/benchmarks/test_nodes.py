"""The benchmark `nodes` at a tiny size: it runs, and compares what is comparable."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_it_compares_driver_and_tasks_and_executes_placements(spark, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        nodes = import_module("nodes")
        patch.setattr(nodes, "PLACEMENTS", ("g_rr", "w_tl"))
        report = nodes.Nodes(spark, nodes.Settings(2_000, 2, 5, (6,), 8), tmp_path).run()
        nodes.draw(report, tmp_path / "nodes.png")
    (row,) = report["spread"]
    assert row["driver"]["answers"] == row["tasks"]["answers"] == row["planned"]["answers"] > 0
    assert (row["driver"]["nodes"], len(row["tasks"]["nodes"])) == ([], report["nodes"])
    assert [placed["placement"] for placed in report["placed"]] == ["g_rr", "w_tl"]
    assert all(seconds > 0 for placed in report["placed"] for seconds in placed["total"])
    json.dumps(report, allow_nan=False)
