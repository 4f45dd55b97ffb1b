"""Codes of keys, against a dict: whatever is held has one code and keeps it, and what nobody holds has none."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.state.key_codes import KeyCodes

NAN = float("nan")
OTHER_NAN = np.uint64(0xFFF8000000000001).view(np.float64).item()
VALUES = {
    pa.bool_(): [None, False, True],
    pa.int8(): [None, 0, -1, 127],
    pa.int64(): [None, 0, 1, -1, 2**63 - 1, -(2**63)],
    pa.float32(): [None, 0.0, -0.0, 1.5, NAN, OTHER_NAN, float("inf")],
    pa.float64(): [None, 0.0, -0.0, 1.5, NAN, OTHER_NAN, -float("inf")],
    pa.date32(): [None, date(1970, 1, 1), date(1, 1, 1)],
    pa.timestamp("us", "UTC"): [None, datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC)],
    pa.decimal128(38, 3): [
        None,
        Decimal("0.000"),
        Decimal("-1.000"),
        Decimal(10**30),
        Decimal("18446744073709551.616"),
    ],
    pa.string(): [None, "", "a", "ab", "b", "\0", "é", "a" * 100],
    pa.large_string(): [None, "", "a"],
    pa.binary(): [None, b"", b"\0", b"\0\0", b"12345678"],
    pa.null(): [None],
    pa.list_(pa.float64()): [None, [], [None], [0.0], [-0.0], [NAN], [OTHER_NAN], [0.0, 0.0]],
    pa.struct([("a", pa.int64()), ("b", pa.string())]): [None, {"a": None, "b": None}, {"a": 1, "b": "x"}],
}
"""Of each type a key can have, values that are easily taken for each other."""


def plain(value):
    """Equal where keys are."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    if isinstance(value, list):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple((name, plain(one)) for name, one in value.items())
    return value


def array(values, of_type, offset):
    """As one that is cut out of another."""
    return pa.array([*[values[0]] * offset, *values] if values else [], of_type)[offset if values else 0 :]


@st.composite
def histories(draw):
    types = draw(st.lists(st.sampled_from(list(VALUES)), max_size=4))
    keys = st.tuples(*(st.sampled_from(VALUES[of_type]) for of_type in types))
    take = st.tuples(st.just("take"), st.lists(keys, max_size=40))
    find = st.tuples(st.just("find"), st.lists(keys, max_size=10))
    let_go = st.tuples(st.just("let go"), st.floats(0, 1))
    return types, draw(st.lists(st.one_of(take, find, let_go), max_size=12)), draw(st.integers(0, 9))


@given(history=histories())
def test_is_a_dict(history):
    types, steps, offset = history
    keys, holders = KeyCodes(types), []
    for what, how in steps:
        if what == "let go":
            gone, holders = holders[: int(how * len(holders))], holders[int(how * len(holders)) :]
            keys.let_go(np.array([code for _, code in gone], np.int64))
        else:
            columns = [
                array([key[place] for key in how], of_type, offset) for place, of_type in enumerate(types)
            ]
            codes = (keys.take if what == "take" else keys.find)(columns, len(how)).tolist()
            asked = list(zip([tuple(map(plain, key)) for key in how], codes, strict=True))
            if what == "take":
                holders += asked
            else:
                assert codes == [dict(holders).get(key, -1) for key, _ in asked]
        of_key = dict(holders)
        assert len(of_key) == len(set(of_key.values())) == len(keys)
        assert all(of_key[key] == code for key, code in holders)
        assert max(of_key.values(), default=-1) < keys.capacity


@pytest.mark.parametrize("of_type", [pa.int64(), pa.string()])
def test_is_as_large_as_the_keys_that_are_held(of_type):
    random, keys, held, codes = np.random.default_rng(5), KeyCodes([of_type]), Counter(), []
    for round_number in range(60):
        numbers = random.integers(round_number * 300, round_number * 300 + 2_000, 1_000)
        of_round = keys.take([pa.array(numbers).cast(of_type)])
        held.update(numbers.tolist())
        codes.append((numbers, of_round))
        if len(codes) > 3:
            numbers, gone = codes.pop(0)
            keys.let_go(gone)
            held -= Counter(numbers.tolist())
        assert len(keys) == len(held)
    assert keys.capacity < 4_000
    assert keys.bytes < 4_000 * 8 * 20
    first = pa.array(np.array(sorted(held))).cast(of_type)
    assert len(set(keys.find([first]).tolist())) == len(held)
    assert keys.find([pa.array([-1]).cast(of_type)]).tolist() == [-1]


def test_strings_of_several_columns_do_not_run_into_each_other():
    keys = KeyCodes([pa.string(), pa.string()])
    assert keys.take([pa.array(["a", "ab", "", None]), pa.array(["bc", "c", "abc", "abc"])]).tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_a_key_may_come_as_a_dictionary():
    keys = KeyCodes([pa.dictionary(pa.int32(), pa.string())])
    assert keys.take([pa.array(["a", "b", "a"]).dictionary_encode()]).tolist() == [0, 1, 0]
    assert keys.find([pa.array(["b"])]).tolist() == [1]
