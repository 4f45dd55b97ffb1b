"""`windrow calibrate`: a table in the home, and a planner that goes by it."""

import json

import pytest

from windrow import Engine
from windrow.errors import WindrowError
from windrow.final import FINAL_AGGREGATORS, Costs

STATEMENT = "SELECT SUM(v) AS total FROM events [RANGE 1 MINUTE SLIDE 1 SECOND]"


def test_a_home_is_planned_by_what_was_measured_for_it(windrow, spark, tmp_path):
    home = tmp_path / "home"
    done = windrow("calibrate", "--quick", str(home))
    assert done.exit_code == 0, done.output
    assert "measured in" in done.output
    path = home / "costs.json"
    measured = Costs.read(path)
    assert measured.nanoseconds.keys() == FINAL_AGGREGATORS.keys()
    table = json.loads(path.read_text())
    for name in FINAL_AGGREGATORS:
        for points in table["nanoseconds"][name].values():
            for point in points:
                point[1] = 0.5 if name == "recalculate" else 100.0
    path.write_text(json.dumps(table))
    with Engine(home, spark) as engine:
        events = spark.sql("SELECT timestamp_seconds(id) AS ts, CAST(id AS DOUBLE) AS v FROM range(100)")
        engine.stream("events", events, timestamp="ts")
        engine.query("q", STATEMENT)
        plan = engine.explain()
        assert "final: recalculate for add_floats (0 ns a slide of 60 slices; next is" in plan
        assert f"costs of algorithms: {path}" in plan
        engine.run()
        assert engine.results("q").count() == 159


def test_a_broken_table_is_found_when_the_engine_starts_and_can_be_measured_anew(windrow, spark, tmp_path):
    home = tmp_path / "home"
    Engine(home, spark).close()
    (home / "costs.json").write_text("{")
    with pytest.raises(WindrowError, match=r"costs\.json is not a table of costs"):
        Engine(home, spark)
    assert windrow("calibrate", "--quick", str(home)).exit_code == 0
    Engine(home, spark).close()
