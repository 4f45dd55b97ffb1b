"""A home may have any name, also one that Spark would take for a pattern."""

from __future__ import annotations

import shutil

import windrow
from tests.streams import Lines, answers, text_engine
from windrow.runtime import compaction
from windrow.runtime.compaction import Compactor
from windrow.runtime.home import FOLDERS


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
    Compactor(engine._home, lambda: 0.0).compact()
    merged = {kind for kind in FOLDERS if any(file.level for file in engine._home.catalog.files(kind))}
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
    assert reader.late("s").columns == ["ts", "v", "unused", "_late_by", "_file", "_position", "_epoch"]
    assert reader.results("q", last="2 minutes").count() == 2
