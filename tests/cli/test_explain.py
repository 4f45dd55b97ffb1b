from __future__ import annotations

STATEMENTS = """
    CREATE STREAM readings (ts TIMESTAMP, sensor STRING, value INT) FROM CSV '.' TIMESTAMP ts;
    CREATE QUERY hour AS SELECT sensor, MAX(value) FROM readings [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY sensor;
    CREATE QUERY day AS SELECT sensor, AVG(value) FROM readings [RANGE 1 DAY SLIDE 1 HOUR] GROUP BY sensor;
    CREATE QUERY rows AS SELECT AVG(value) FROM readings [ROWS 100 SLIDE 10];
"""


def test_the_plan_is_printed_and_nothing_runs(windrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = windrow("explain", "-", text=STATEMENTS)
    assert result.exit_code == 0, result.output
    assert "shared by 2 queries" in result.stdout
    assert "query hour" in result.stdout
    assert "over [ROWS 100 SLIDE 10]" in result.stdout
    assert "number rows in stream order" in result.stdout
    assert "GROUP BY" not in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_sql_shows_what_spark_runs(windrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = windrow("explain", "--sql", "-", text=STATEMENTS)
    assert result.exit_code == 0, result.output
    assert "GROUP BY 1, 2" in result.stdout
    assert "ORDER BY _windrow_fate, `readings`.`value`" in result.stdout
