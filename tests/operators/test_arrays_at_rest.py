"""The arrays of a state at rest: as they were, also from homes of format 4, and never a program."""

from __future__ import annotations

import io
import os
import pickle

import numpy as np
import pyarrow as pa
import pytest

import windrow
from windrow.aggregates import own_function
from windrow.aggregates.own.objects import ObjectPacking
from windrow.aggregates.sketches import PACKING
from windrow.operators.state.arrays_at_rest import arrays_from, arrays_table


class Tags(windrow.OwnAggregate):
    state = object
    result = "ARRAY<STRING>"

    def lift(self, tag):
        return frozenset([tag])

    def combine(self, a, b):
        return a | b

    def lower(self, s):
        return sorted(s)


def objects(shape, *values):
    array = np.empty(shape, object)
    for place, value in enumerate(values):
        array.reshape(-1)[place] = value
    return array


PACKINGS = {"tags open": ObjectPacking(own_function("tags", Tags)), "union_hll open": PACKING}
ARRAYS = {
    "rows": np.array([3, 1 << 62]),
    "empty": np.empty((0, 2)),
    "add_floats algorithm": np.array("two_stacks"),
    "add_floats open": np.array([[0.1, np.nan], [-0.0, np.inf]]),
    "tags open": objects((2, 2), (1, frozenset("a")), None, (2, frozenset("ab"))),
    "union_hll open": objects((3, 1), b"a sketch of some bytes", None, b"another one"),
}


def as_in_format_4(arrays):
    def written(array):
        file = io.BytesIO()
        np.save(file, array)
        return file.getvalue()

    packed = pa.array([written(array) for array in arrays.values()], pa.large_binary())
    return pa.table({"_name": list(arrays), "_array": packed})


@pytest.mark.parametrize(
    "table",
    [arrays_table(ARRAYS, PACKINGS.__getitem__), as_in_format_4(ARRAYS)],
    ids=["now", "in format 4"],
)
def test_arrays_come_back_as_they_were(table):
    back = arrays_from(table, PACKINGS.__getitem__)
    assert list(back) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        np.testing.assert_array_equal(back[name], array)


def test_what_is_written_now_is_no_pickle():
    table = arrays_table(ARRAYS, PACKINGS.__getitem__)
    for data in filter(None, table["_array"].to_pylist()):
        np.load(io.BytesIO(data), allow_pickle=False)


class Runs:
    def __init__(self, directory):
        self.directory = str(directory)

    def __reduce__(self):
        return os.mkdir, (self.directory,)


@pytest.mark.parametrize("name", ["tags open", "union_hll open"])
def test_a_program_in_an_array_does_not_run(tmp_path, name):
    crafted = as_in_format_4({name: objects(1, Runs(tmp_path / "ran"))})
    with pytest.raises(windrow.QueryFailed, match=r"a state mentions (posix|nt)\.mkdir"):
        arrays_from(crafted, PACKINGS.__getitem__)
    pickled = pa.array([pickle.dumps(Runs(tmp_path / "ran"))], pa.large_binary())
    with pytest.raises(windrow.QueryFailed, match=f"its state cannot be read: {name}: .*magic string"):
        arrays_from(pa.table({"_name": [name], "_array": pickled}), PACKINGS.__getitem__)
    assert not (tmp_path / "ran").exists()
