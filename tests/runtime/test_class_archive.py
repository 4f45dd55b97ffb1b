"""Archived classes: used by the sessions that Windrow starts, and no harm when they are damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import LONG
from windrow.api.warm import archive_path, warm_start
from windrow.errors import WindrowError
from windrow.runtime.spark.class_archive import LAUNCH_OPTIONS, launching, write_archive

START = """
import sys
from pathlib import Path
from windrow.runtime.spark import session
session.archive_path = lambda: Path(sys.argv[1])
spark = session.local_session()
pid = spark.sparkContext._jvm.ProcessHandle.current().pid()
print(sys.argv[1] in Path(f"/proc/{pid}/maps").read_text(), spark.range(7).count())
"""


def start(archive: Path) -> subprocess.CompletedProcess[str]:
    """Start a session with an archive; says whether Java uses it, and the number seven."""
    environment = {name: value for name, value in os.environ.items() if name != LAUNCH_OPTIONS}
    command = [sys.executable, "-c", START, str(archive)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=archive.parent
    )


@pytest.fixture
def archive(tmp_path):
    """A copy of the archive that script/bootstrap has rehearsed for; a long run rehearses by itself."""
    archive = tmp_path / "with space" / "spark.jsa"
    if LONG or not archive_path().exists():
        warm_start(archive)
        assert [path.name for path in archive.parent.iterdir()] == ["spark.jsa"]
    else:
        archive.parent.mkdir()
        shutil.copyfile(archive_path(), archive)
    return archive


def test_spark_starts_with_the_classes_of_a_rehearsal_and_without_damaged_ones(archive):
    started = start(archive)
    assert started.stdout.split() == ["True", "7"]
    assert "archive" not in started.stderr
    archive.chmod(0o600)
    os.truncate(archive, archive.stat().st_size // 4)
    started = start(archive)
    assert started.stdout.split()[-2:] == ["False", "7"]  # after Java's last words
    assert "`windrow warm` makes them again" in started.stderr
    assert not archive.exists()


def test_a_rehearsal_that_fails_says_why_and_leaves_nothing(tmp_path):
    with pytest.raises(WindrowError, match="could not be archived: no Spark here"):
        write_archive(tmp_path / "spark.jsa", ["-c", "raise SystemExit('no Spark here')"])
    with pytest.raises(WindrowError, match="could not be archived: this Java wrote none"):
        write_archive(tmp_path / "spark.jsa", ["-c", "pass"])
    (tmp_path / "file").touch()
    with pytest.raises(WindrowError, match="cannot be written: File exists"):
        write_archive(tmp_path / "file" / "spark.jsa", ["-c", "pass"])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_options_of_the_user_have_the_last_word_and_come_back(monkeypatch):
    monkeypatch.setenv(LAUNCH_OPTIONS, "-Dours=1")
    with launching("-Dtheirs=2"):
        assert os.environ[LAUNCH_OPTIONS] == "-Dtheirs=2 -Dours=1"
    assert os.environ[LAUNCH_OPTIONS] == "-Dours=1"
    monkeypatch.delenv(LAUNCH_OPTIONS)
    with launching("-Dtheirs=2"):
        assert os.environ[LAUNCH_OPTIONS] == "-Dtheirs=2"
    assert LAUNCH_OPTIONS not in os.environ
