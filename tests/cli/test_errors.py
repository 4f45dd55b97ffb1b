from __future__ import annotations

import subprocess
import sys

import pytest

MISSPELT = """CREATE STREAM readings (ts TIMESTAMP, value INT) FROM CSV '.' TIMESTAMP ts;
SELECT MAX(valu) FROM readings [RANGE 1 HOUR SLIDE 1 HOUR];
"""


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_wrong_statement_is_shown_with_a_caret(windrow, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.cql").write_text(MISSPELT)
    result = windrow(command, "q.cql")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "(line 2, column 12)" in result.stderr
    assert (
        "\n    SELECT MAX(valu) FROM readings [RANGE 1 HOUR SLIDE 1 HOUR];\n               ^^^^\n"
        in result.stderr
    )
    assert "did you mean value?" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_file_that_is_not_there(windrow, command):
    result = windrow(command, "nowhere.cql")
    assert result.exit_code == 2
    assert "nowhere.cql" in result.stderr
    assert "No such file" in result.stderr


def test_a_file_that_is_not_text(windrow, tmp_path):
    (tmp_path / "q.cql").write_bytes(b"SELECT \xff\xfe")
    result = windrow("run", str(tmp_path / "q.cql"))
    assert result.exit_code == 1
    assert "not UTF-8" in result.stderr


def test_a_file_without_queries(windrow, tmp_path):
    (tmp_path / "q.cql").write_text("-- nothing yet\n")
    result = windrow("run", str(tmp_path / "q.cql"))
    assert result.exit_code == 1
    assert "no queries" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["--colour"], ["run"], ["run", "-", "--row", "3"], ["run", "-", "--rows", "-1"], ["dem"]]
)
def test_wrong_use(windrow, arguments):
    result = windrow(*arguments, text="")
    assert result.exit_code == 2
    assert "Usage: " in result.stderr


def test_trigger_goes_with_forever(windrow):
    result = windrow("run", "-", "--trigger", "1 second", text="")
    assert result.exit_code == 2
    assert "--forever" in result.stderr


def test_help_needs_no_spark():
    """A fresh interpreter: the commands may not import Spark, or pandas, before they are used."""
    program = (
        "import sys; from windrow.cli.main import main; main(['--help'], standalone_mode=False); "
        "sys.exit(bool({'pyspark', 'pandas', 'matplotlib', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "windrow demo" in done.stdout


@pytest.mark.parametrize("command", ["run", "explain", "demo"])
def test_every_command_explains_itself_with_an_example(windrow, command):
    result = windrow(command, "--help")
    assert result.exit_code == 0
    assert f"  windrow {command}" in result.output


def test_version(windrow):
    from windrow import __version__

    assert windrow("--version").output == f"windrow, version {__version__}\n"
