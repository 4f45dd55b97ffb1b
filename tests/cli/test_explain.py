from __future__ import annotations

import pytest

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
    assert "stream readings: 3 queries (1 with a state of their own), 1 class, 1 tree" in result.stdout
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


@pytest.mark.parametrize("ending", ["html", "svg", "dot", "png"])
def test_a_picture_is_drawn_beside_the_text(windrow, tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    result = windrow("explain", "-", "--picture", f"plan.{ending}", text=STATEMENTS)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("stream readings: ")
    assert f"drawn: plan.{ending}" in result.stderr
    assert (tmp_path / f"plan.{ending}").stat().st_size > 500


def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_else(windrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = windrow("explain", "-", "--picture", "plan.gif", text="nonsense")
    assert result.exit_code == 1
    assert (
        "error: plan.gif ends in .gif; a picture is drawn to a file in .html, .svg, .png, .dot"
        in result.stderr
    )


def test_a_home_is_explained_as_it_runs(windrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("2024-01-01 00:00:00,a,1\n2024-01-01 01:00:00,b,2\n")
    statements = STATEMENTS.replace("CSV '.'", f"CSV '{tmp_path / 'in'}'")
    (tmp_path / "q.cql").write_text(statements)
    assert windrow("run", "q.cql", "--home", "home", "--no-seal").exit_code == 0
    result = windrow("explain", "--home", "home")
    assert result.exit_code == 0, result.output
    assert "trees running" in result.stdout
    assert "(running): 2 queries; RANGE 1 hour SLIDE 1 minute, RANGE 1 day SLIDE 1 hour" in result.stdout


def test_either_a_file_or_a_home(windrow, tmp_path):
    for arguments in ((), ("-", "--home", "home")):
        result = windrow("explain", *arguments, text=STATEMENTS)
        assert result.exit_code == 2
        assert "give either a FILE or a --home" in result.stderr
    result = windrow("explain", "--home", str(tmp_path / "none"))
    assert result.exit_code == 1
    assert "there is no home at " in result.stderr
    assert not (tmp_path / "none").exists()
