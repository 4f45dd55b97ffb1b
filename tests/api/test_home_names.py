"""Homes and files may have any name, also one that Spark would take for a pattern."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import windrow
from tests.harness.on_disk import committed_files, compact
from tests.streams import SQL, Files, Lines, answers, assert_answers, same_events, text_engine
from windrow.runtime.home import compaction
from windrow.runtime.home.records import FOLDERS


def minute(number):
    """A row of this minute, one that is late from the second minute on, and a line that is no row."""
    return f"2020-01-01 00:{number:02d}:10,1,0\n2020-01-01 00:00:00,100,0\nminute {number}\n"


def test_a_home_with_the_letters_of_a_pattern_runs_and_is_read_as_any_other(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "FAN", 2)
    home = tmp_path / "h[1]* {a,b}\\"
    lines = Lines(tmp_path / "in")
    for number in range(3):
        lines.add(minute(number))
    given = {}
    engine = text_engine(spark, lines, home)
    engine.sink("q", given.__setitem__)
    engine.run(seal=False)
    compact(engine)
    merged = {file.kind for file in committed_files(home, *FOLDERS) if file.level}
    assert merged >= {"results", "late", "dead"}
    shutil.copytree(home, tmp_path / "h1 and more a")  # what the pattern would find: the same files
    lines.add(minute(3))
    engine = text_engine(spark, lines, home)
    engine.sink("q", given.__setitem__)
    engine.run(seal=True)
    assert answers(engine) == [(1, 101, 2), (2, 1, 1), (3, 1, 1), (4, 1, 1)]
    assert sum(map(len, given.values())) == 4
    assert engine.late("s").count() == 3
    assert sorted(row._raw for row in engine.dead("s").collect()) == [f"minute {n}" for n in range(4)]
    assert engine.check() > 0
    reader = windrow.Engine(home, spark=spark)  # which has not been told of the stream
    assert reader.late("s").columns == [
        "ts",
        "v",
        "unused",
        "_late_by",
        "_query",
        "_file",
        "_position",
        "_epoch",
    ]
    assert reader.results("q", last="2 minutes").count() == 2


@pytest.mark.parametrize(
    "names",
    [("a[1].parquet", "b{1,2}.parquet", "c*?.parquet", "d.parquet"), ("a].parquet", "b", "c", "d")],
    ids=["patterns", "one letter"],
)
def test_files_with_the_letters_of_a_pattern_are_read_once(spark, tmp_path, names):
    """Spark's streams read each of them as often as there are files in the batch."""
    files = Files(spark, tmp_path / "in")
    for place, name in enumerate(names):
        pq.write_table(same_events(20 * place, 20 * place + 20), files.path / name)
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("events", files.path, timestamp="ts", delay="80 seconds")
    engine.query("q", SQL)
    engine.run(seal=True)
    assert engine.progress("events").rows == 800
    assert_answers(engine, same_events(0, 80))


@pytest.mark.parametrize("header", ["ts,v,unused", "unused,v,ts"])
def test_lines_of_files_with_the_letters_of_a_pattern_are_read_once(spark, tmp_path, header):
    (tmp_path / "in").mkdir()
    for number in range(3):
        path = tmp_path / "in" / f"{number}[{number}].csv"
        row = ["2020-01-01 00:00:01", f"{1 << number}", "0"]
        path.write_text(f"{header}\n{','.join(row if header.startswith('ts') else row[::-1])}\nno line\n")
        os.utime(path, (1_600_000_000 + number,) * 2)
    lines = Lines(tmp_path / "more")
    lines.path = tmp_path / "in"
    engine = text_engine(
        spark, lines, tmp_path / "home", options={"header": "true", "maxFilesPerTrigger": "9"}
    )
    engine.run(seal=True)
    assert answers(engine) == [(1, 7, 3)]
    assert sorted(Path(row._file).name for row in engine.dead("s").collect()) == [
        "0[0].csv",
        "1[1].csv",
        "2[2].csv",
    ]
