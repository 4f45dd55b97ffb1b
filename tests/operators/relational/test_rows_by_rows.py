"""Operators that hold no rows: unions, expressions, numbers; and which operator a node has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns import END_OF_TIME, SLICE
from windrow.logical.tree import Column, Compute, Distinct, Evaluate, Join, Number, Rows, Union
from windrow.operators.relational.base import Around, RelationalOperator
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.computed import Computed
from windrow.operators.relational.merge_union import MergeUnion
from windrow.operators.relational.numbered import Numbered
from windrow.operators.relational.operators import operator_of

X, Y = Column("x", pa.int64()), Column("y z", pa.string())
LEAF = Rows(0, "s", (X, Y), 10)


def changes(ts, x, op=None):
    ts = np.array(ts, np.int64)
    rows = pa.table({"x": pa.array(x, pa.int64()), "y z": [f"y{one}" for one in x]})
    return Changes(ts, ts + 10, ts + 20, rows, None if op is None else np.array(op, np.int8))


def never(table, expressions):
    raise AssertionError("Spark is asked though there is nothing to compute")


def test_a_union_has_all_rows_in_order():
    union = MergeUnion(Union((LEAF, LEAF, LEAF)))
    output = union.advance([changes([1, 5, 9], [1, 1, 2]), changes([0, 5], [3, 1]), changes([], [])], 10)
    assert output.ts.tolist() == [0, 1, 5, 5, 9]
    assert (output.live - output.ts).tolist() == [10] * 5
    assert (output.exp - output.ts).tolist() == [20] * 5
    assert output.rows["x"].to_pylist() == [3, 1, 1, 1, 2]
    assert output.rows["x"].num_chunks == 1
    assert not len(union.advance([changes([], [])] * 3, 20))


def test_renamed_columns_do_not_need_spark():
    node = Compute(LEAF, ((Column("a", pa.string()), "`y z`"), (Column("b", pa.string()), "`y z`")))
    output = Computed(node, never).advance([changes([1, 2], [7, 8], op=[1, -1])], 10)
    assert output.rows.to_pydict() == {"a": ["y7", "y8"], "b": ["y7", "y8"]}
    assert output.op.tolist() == [1, -1]
    assert output.exp.tolist() == [21, 22]


def test_spark_computes_for_the_rows_that_meet_the_condition():
    items = ((Column("half", pa.int64()), "10 DIV `x`"), (Column("y", pa.string()), "`y z`"))
    node = Compute(LEAF, items, where="`x` <> 0")

    def evaluate(table, expressions):
        assert table.column_names == ["x"]
        assert expressions == ["CASE WHEN `x` <> 0 THEN 10 DIV `x` END", "`x` <> 0"]
        values = table["x"].to_pylist()
        half = [10 // x if x else None for x in values]
        return [pa.array(half, pa.int64()), pa.array([None if x is None else x != 0 for x in values])]

    operator = Computed(node, evaluate)
    output = operator.advance([changes([1, 2, 3, 4], [5, 0, None, 2], op=[1, 1, 1, -1])], 10)
    assert output.rows.to_pydict() == {"half": [2, 5], "y": ["y5", "y2"]}
    assert (output.ts.tolist(), output.live.tolist(), output.op.tolist()) == ([1, 4], [11, 14], [1, -1])
    assert operator.advance([changes([6], [10])], 10).rows.to_pydict() == {"half": [1], "y": ["y10"]}


def test_nothing_is_computed_for_no_rows():
    node = Compute(LEAF, ((Column("x", pa.float64()), "sqrt(`x`)"),), where="`x` > 0")
    output = Computed(node, never).advance([changes([], [])], 10)
    assert output.rows.schema == pa.schema([("x", pa.float64())])


def test_numbers_are_not_given_twice():
    node = Number(LEAF, "number")
    operator, log, given = Numbered(node), [], []
    for rows in ([1, 2, 3], [], [4, 5], [6]):
        output = operator.advance([changes(rows, rows)], 100)
        assert output.rows.schema.field("number").type == pa.int64()
        given += output.rows["number"].to_pylist()
        log += operator.log().values()
        operator = Numbered(node)
        operator.restore({"next": log}, 100)
    assert len(set(given)) == 6
    assert len(log) == 3


def test_the_next_number_is_at_rest_until_all_rows_have_ended():
    """So that what is at rest beside it can go."""
    operator, needed = Numbered(Number(LEAF, "number")), []
    for rows in ([1, 2], [5], [3]):
        operator.advance([changes(rows, rows)], 100)
        needed += [table[SLICE].to_pylist() for table in operator.log().values()]
    assert needed == [[12], [15], [15]]


@pytest.mark.parametrize(
    "node",
    [
        Compute(LEAF, ((X, "`x`"),)),
        Distinct(LEAF),
        Evaluate(LEAF, slide=10, offset=0),
        Join(LEAF, replace(LEAF, handed_over=(Column("z", pa.int64()),)), (("x", "z"),), ("x",)),
        Number(LEAF, "number"),
        Union((LEAF, LEAF)),
    ],
    ids=lambda node: type(node).__name__,
)
def test_every_node_has_an_operator(node):
    operator: RelationalOperator = operator_of(node, Around(never))
    assert operator.next_change() == END_OF_TIME
    assert operator.entries == 0
    assert not operator.log()


def test_a_leaf_has_none():
    with pytest.raises(TypeError, match="no operator for Rows"):
        operator_of(LEAF, Around(never))
