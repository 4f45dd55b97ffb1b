"""`windrow calibrate`: a table in the home, and a planner that goes by it."""

import json
from dataclasses import fields

import pytest

from tests.harness.plans import cost_of_trees
from windrow import Engine
from windrow.aggregates.operations import ADD_FLOATS, GREATEST
from windrow.errors import WindrowError
from windrow.final import FINAL_AGGREGATORS, Costs, measure_slides
from windrow.planner.sharing import SECONDS, Constants

STATEMENT = "SELECT SUM(v) AS total FROM events [RANGE 1 MINUTE SLIDE 1 SECOND]"


def test_a_home_is_planned_by_what_was_measured_for_it(windrow, spark, tmp_path, monkeypatch):
    # Of the operations two, which every algorithm takes one of: each is compiled for each algorithm.
    monkeypatch.setattr(measure_slides, "OPERATIONS", ((ADD_FLOATS, 1), (GREATEST, 1)))
    home = tmp_path / "home"
    Engine(home, spark).close()
    path = home / "costs.json"
    path.write_text("{")
    with pytest.raises(WindrowError, match=r"costs\.json is not a table of costs"):
        Engine(home, spark)
    done = windrow("calibrate", "--quick", str(home))
    assert done.exit_code == 0, done.output
    assert "measured in" in done.output
    lines = ("one more pass over a row", "one partial collected", "one final operation", "one result written")
    assert all(f"\n  {line} " in done.output for line in lines)
    assert Costs.read(path).nanoseconds.keys() == FINAL_AGGREGATORS.keys()
    table = json.loads(path.read_text())
    for name, measured in table["plan_nanoseconds"].items():
        assert getattr(Constants.read(path), name) == pytest.approx(measured * 1e-9)
    for name in FINAL_AGGREGATORS:
        for points in table["nanoseconds"][name].values():
            for point in points:
                point[1] = 0.5 if name == "recalculate" else 100.0
    table["plan_nanoseconds"] = {"row": 1e6}
    path.write_text(json.dumps(table))
    with Engine(home, spark) as engine:
        events = spark.sql("SELECT timestamp_seconds(id) AS ts, CAST(id AS DOUBLE) AS v FROM range(100)")
        engine.stream("events", events, timestamp="ts")
        engine.query("q", STATEMENT)
        plan = engine.explain()
        assert "final: recalculate for add_floats (0 ns a slide of 60 slices; next is" in plan
        assert f"costs: {path}" in plan
        assert plan.streams[0].cost == pytest.approx(10, rel=0.01), "10,000 rows a second, 1 ms each"
        table["plan_nanoseconds"] = {"row": 3e6}
        (other := tmp_path / "other.json").write_text(json.dumps(table))
        assert engine.explain(costs=other).streams[0].cost == pytest.approx(30, rel=0.01)
        engine.run(seal=False)
        assert cost_of_trees(engine) == {"events": pytest.approx(10, rel=0.01)}
        engine.run(seal=True)
        assert engine.results("q").count() == 159


def test_what_was_not_measured_is_as_shipped(tmp_path):
    (path := tmp_path / "costs.json").write_text('{"nanoseconds": {}, "plan_nanoseconds": {"result": 250}}')
    found = Constants.read(path)
    assert found.result == pytest.approx(250e-9)
    assert [getattr(found, of.name) for of in fields(found)][:3] == [
        SECONDS.row,
        SECONDS.partial,
        SECONDS.operation,
    ]
    path.write_text('{"nanoseconds": {}}')  # of an earlier Windrow
    assert Constants.read(path) == SECONDS


@pytest.mark.parametrize(
    "broken", ['{"row": 0}', '{"row": -1}', '{"row": "dear"}', "[1]", "7", '{"row": NaN}']
)
def test_prices_that_cannot_be(broken, tmp_path):
    (path := tmp_path / "costs.json").write_text(f'{{"nanoseconds": {{}}, "plan_nanoseconds": {broken}}}')
    with pytest.raises(WindrowError, match=r"costs\.json is not a table of costs .* windrow calibrate"):
        Constants.read(path)
