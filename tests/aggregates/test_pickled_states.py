"""Pickles of users' states: what is plain comes back, and nothing that a file mentions is ever called."""

from __future__ import annotations

import os
import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import windrow
from windrow.aggregates import own_function
from windrow.aggregates.own.objects import ObjectPacking
from windrow.aggregates.own.pickled_states import UnknownType, pickled, unpickled
from windrow.checks import check


@dataclass(frozen=True)
class Point:
    x: float
    y: float


PLAIN = [
    None, True, 2**70, 1.5, 1 + 2j, "é", b"x", bytearray(b"x"), range(3), (1, [2, {3: {4}}], frozenset([5])),
    Counter("aab"), OrderedDict(a=1), deque([1], maxlen=2), defaultdict(list, a=[1]),
    date(2024, 1, 2), time(3), timedelta(4), datetime(2024, 1, 2, tzinfo=UTC),
    datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=1))), datetime(2024, 7, 2, tzinfo=ZoneInfo("Europe/Berlin")),
    Decimal("1.50"), Fraction(1, 3), UUID(int=7), np.float32(1.5), np.datetime64("2024-01-02"),
]  # fmt: skip
ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.array(["a", "é"]),
    np.array([(1, 2.0)], "i4, f8"),
    np.asfortranarray(np.eye(2)),
]


@pytest.mark.parametrize("state", PLAIN, ids=repr)
def test_plain_values_come_back_as_they_were(state):
    back = unpickled(pickled(state, ()), ())
    assert back == state
    assert type(back) is type(state)
    # as format 4 wrote them
    assert unpickled(pickle.dumps(state), ()) == state


@pytest.mark.parametrize("state", ARRAYS, ids=lambda array: array.dtype)
def test_arrays_come_back_as_they_were(state):
    for data in (pickled(state, ()), pickle.dumps(state)):
        back = unpickled(data, ())
        np.testing.assert_array_equal(back, state)
        assert back.dtype == state.dtype
    assert unpickled(pickled(np.array([None, {1}], object), ()), ()).tolist() == [None, {1}]


class Runs:
    """What somebody would put into a home who may write there: reading it calls a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (os.system, ("touch {}",)),
        (os.mkdir, ("{}",)),
        (exec, ("open('{}', 'w')",)),
        (getattr, (os, "system")),
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_nothing_that_a_file_mentions_is_called(tmp_path, function, arguments, protocol):
    marker = tmp_path / "ran"
    filled = [part.format(marker) if isinstance(part, str) else part for part in arguments]
    if function is getattr:
        data = b"cbuiltins\ngetattr\n(czoneinfo\nZoneInfo\nS'clear_cache'\ntR."
    else:
        data = pickle.dumps({"state": Runs(function, *filled)}, protocol)
        assert pickle.loads(data)  # it would have run
        assert marker.exists()
        marker.unlink() if marker.is_file() else marker.rmdir()
    with pytest.raises(UnknownType, match="which is neither plain nor listed"):
        unpickled(data, (Point,))
    assert not marker.exists()


def test_types_that_are_listed_and_no_others():
    assert unpickled(pickled({Point(1.0, 2.0)}, (Point,)), (Point,)) == {Point(1.0, 2.0)}
    for state in (Point(1.0, 2.0), Point, pd.Timestamp("2024-01-02"), np.ma.array([1]), os.getcwd, [].append):
        with pytest.raises(
            UnknownType, match="name the type in state_types of the aggregate, or write its pack"
        ):
            pickled(state, ())
        if not callable(state):
            with pytest.raises(UnknownType):
                unpickled(pickle.dumps(state), ())


class Path(windrow.OwnAggregate):
    state = object
    commutative = False

    def lift(self, x):
        return Point(x, x)

    def combine(self, a, b):
        return Point(a.x, b.y)

    def lower(self, s):
        return s.y - s.x


class ListedPath(Path):
    state_types = (Point,)


def test_a_class_is_told_what_its_states_lack():
    """By the check of its laws, and by the first epoch that has to write a state down."""
    states = np.empty(1, object)
    states[0] = (3, Point(1.0, 2.0))
    with pytest.raises(windrow.QueryFailed) as caught:
        ObjectPacking(own_function("path", Path)).pack(states)
    assert str(caught.value) == (
        f"PATH: pickling failed: a state mentions {Point.__module__}.Point, which is neither plain nor listed: "
        "name the type in state_types of the aggregate, or write its pack and unpack"
    )
    assert check(Path, [1.0, 2.0]).broken == ["serialisation"]
    assert check(ListedPath, [1.0, 2.0])
    packing = ObjectPacking(own_function("path", ListedPath))
    assert packing.unpack(packing.pack(states)).tolist() == states.tolist()
    with pytest.raises(
        windrow.WindrowError, match=r"state_types of Path are types, such as \(Point,\), not 'Point'"
    ):
        own_function("path", type("Path", (Path,), {"state_types": "Point"}))


def test_a_pickle_that_is_broken_is_an_error_of_the_query():
    packing = ObjectPacking(own_function("path", ListedPath))
    for data in (b"\0" * 8 + b"garbage", b"\0" * 8, pickle.dumps(1)[:3]):
        with pytest.raises(windrow.QueryFailed, match="PATH: unpickling raised"):
            packing.unpack(pa.array([data], pa.large_binary()))
