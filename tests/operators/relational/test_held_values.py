"""A row for each value that is held, however many have come and gone."""

import random

import pyarrow as pa

from windrow.operators.relational.held_values import HeldValues

TYPES = {"k": pa.int64(), "text": pa.string()}


def table(keys):
    return pa.table(
        {"k": pa.array(keys, pa.int64()), "text": pa.array([f"text {key}" for key in keys], pa.string())}
    )


def test_the_rows_of_the_values_that_are_held():
    chance = random.Random(3)
    values, held = HeldValues(TYPES, ["k"]), {}
    for _ in range(60):
        keys = [chance.randrange(5000) for _ in range(chance.choice([0, 1, 30, 900]))]
        for key, code in zip(keys, values.take(table(keys), len(keys)), strict=True):
            held.setdefault(key, []).append(code)
        gone = [key for key in held if chance.random() < 0.4]
        values.let_go(pa.array([code for key in gone for code in held.pop(key)], pa.int64()).to_numpy())
        assert len(values) == len(held)
        some = chance.sample(sorted(held), len(held) // 2)
        codes = pa.array([held[key][0] for key in some], pa.int64()).to_numpy()
        assert values.rows(codes).to_pylist() == table(some).to_pylist()


def test_values_that_are_equal_are_written_alike():
    of_floats = pa.struct([("f", pa.float32())])
    types = {"x": pa.float64(), "nested": of_floats, "other": pa.float64()}
    values = HeldValues(types, ["x", "nested"])
    rows = pa.table({"x": [-0.0], "nested": pa.array([{"f": -0.0}], of_floats), "other": [-0.0]})
    codes = values.take(rows, 1)
    assert str(values.rows(codes).to_pylist()) == "[{'x': 0.0, 'nested': {'f': 0.0}, 'other': -0.0}]"
