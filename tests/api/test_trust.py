"""What an engine trusts: whoever may write its home changes answers, and runs nothing."""

from __future__ import annotations

import io
import os
import pickle
import sqlite3

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.streams import Files
from windrow.runtime.durable import force
from windrow.runtime.slice_log import State, _index, _read, write_file


class Tags(windrow.OwnAggregate):
    state = object
    result = "INT"

    def lift(self, tag):
        return frozenset([tag])

    def combine(self, a, b):
        return a | b

    def lower(self, s):
        return len(s)


class Runs:
    """Pickled, it is a program that makes a directory."""

    def __init__(self, directory):
        self.directory = str(directory)

    def __reduce__(self):
        return os.mkdir, (self.directory,)


def crafted(table, program):
    """A state at rest with the program in the place of users' states, for arrays of them as in format 4."""
    if table is None:
        return None
    array = io.BytesIO()
    np.save(array, np.array([program], object))
    names = table["_name"].to_pylist() if "_name" in table.column_names else [None] * len(table)
    for place, field in enumerate(table.schema):
        values = table[field.name].to_pylist()
        if field.name == "_array":
            values = [
                array.getvalue() if name is not None and name.startswith("tags ") else value
                for name, value in zip(names, values, strict=True)
            ]
        elif field.name == "_objects":
            values = [None] * len(table)
        elif field.type == pa.large_binary():
            values = [None if value is None else bytes(8) + pickle.dumps(program) for value in values]
        table = table.set_column(place, field, pa.array(values, field.type))
    return table


def put_into_home(home, program):
    """Somebody rewrites the slice log, sizes and checksums and all."""
    database = sqlite3.connect(home / "catalog.db")
    for (name,) in database.execute("SELECT path FROM files WHERE kind = 'slices'").fetchall():
        path = home / name
        tables = {(s.tree, s.closed): crafted(_read(path, s), program) for s in _index(path)}
        trees = dict.fromkeys(tree for tree, _ in tables)
        write_file(path, [State(tree, tables.get((tree, True)), tables.get((tree, False))) for tree in trees])
        database.execute("UPDATE files SET bytes = ?, checksum = ? WHERE path = ?", (*force(path), name))
    database.commit()
    database.close()


@pytest.mark.parametrize("window", ["[RANGE 10 S SLIDE 5 S]", "[PARTITION BY k ROWS 20 SLIDE 5]"])
def test_a_program_in_the_home_does_not_run(spark, tmp_path, window):
    files = Files(spark, tmp_path / "in")
    for number in range(2):
        files.add(20 * number, 20 * number + 20)
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.stream("events", files.path, timestamp="ts")
        engine.aggregate("tags", Tags)
        engine.query("q", f"SELECT k, tags(v) AS n FROM events {window} GROUP BY k")
        if number == 0:
            engine.run(seal=False)
            engine.close()
            put_into_home(tmp_path / "home", Runs(tmp_path / "ran"))
    with engine, pytest.raises(windrow.QueryFailed, match=r"a state mentions posix\.mkdir"):
        engine.run(seal=False)
    assert not (tmp_path / "ran").exists()
