"""BIT_AND, BIT_OR and BIT_XOR of integers; the last is its own inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.call import Call
from windrow.aggregates.function import Function
from windrow.aggregates.operations import ADD_INTEGERS, BIT_AND, BIT_OR, BIT_XOR
from windrow.aggregates.sum import masked, presence
from windrow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

MERGES = {merge.name: merge for merge in (BIT_AND, BIT_OR, BIT_XOR)}


@dataclass(frozen=True)
class BitsPartial(Partial):
    """Bits of all values together: present, bits. Narrow integers are widened, and their sign with them."""

    function: str

    @property
    def expressions(self) -> tuple[str, ...]:
        return (f"{self.function}({self.argument})",)

    def lift(self, values: pa.Array) -> list[pa.Array]:
        return [values]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        return (RecordColumn(ADD_INTEGERS), RecordColumn(MERGES[self.function]))

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        (values,) = lifted
        nothing = MERGES[self.function].identity
        bits = pc.fill_null(values.cast(pa.int64()), nothing).to_numpy(zero_copy_only=False)
        return [presence(values), bits]


class Bits(Aggregate):
    """BIT_AND, BIT_OR, BIT_XOR: of the argument's type, NULL when no row had a value."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (BitsPartial(self.argument, self.function),)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        present, bits = columns
        return masked(bits, present, self.result_type)


def _bits(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    if not pat.is_integer(types[0]):
        raise PlanError(f"{call}: values of type {types[0]} are not integers")
    return Bits(call, types, answer)


FUNCTIONS = dict.fromkeys(MERGES, Function(_bits))
