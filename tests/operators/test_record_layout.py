"""Ranks of values that come, go, or never were."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.aggregates import Call, aggregate
from windrow.operators.aggregate.record_layout import RecordLayout

LEAST, GREATEST = (aggregate(Call(name, ("s",)), (pa.string(),), pa.string()) for name in ("min", "max"))


class Held:
    """Records, as an operator would hold them."""

    def __init__(self):
        self.partials = [*LEAST.partials, *GREATEST.partials]
        self.layout = RecordLayout(self.partials, self.rewrite)
        self.records = {operation: operation.empty(0, width) for operation, width in self.layout.operations}

    def rewrite(self, operation, place, function):
        held = self.records[operation]
        held[:, place] = function(held[:, place])

    def hold(self, values):
        column = pa.array(values, pa.string())
        lifted = {partial: partial.encode([column]) for partial in self.partials}
        self.records = self.layout.records(lifted, len(values))

    def answers(self, item):
        return self.layout.answers(item, self.records).to_pylist()


@pytest.mark.parametrize("values", [[None, None], ["b", None, "a"], []])
def test_forgetting_what_no_record_holds_changes_no_answer(values):
    held = Held()
    held.hold(["z", "a", None])
    held.hold(values)
    held.layout.forget_dead_ranks()
    assert held.layout.ranked_values == 2 * len(set(values) - {None})
    assert held.answers(LEAST) == held.answers(GREATEST) == values


def test_a_column_that_has_never_had_a_value_can_be_forgotten():
    held = Held()
    held.hold([None, None])
    held.layout.forget_dead_ranks()
    assert held.answers(GREATEST) == [None, None]
