"""APPROX_COUNT_DISTINCT and APPROX_PERCENTILE: sketches, of a size that does not grow with the rows.

Spark makes one Apache DataSketches sketch a slice and key in the JVM; Python reads the same bytes and
merges them. A record is the bytes of a sketch, so kernels run interpreted; reading and writing them at
every merge takes half a microsecond or so, and no object of the library outlives a call.

A value is counted by its `xxhash64`, which Spark has for every type but maps, alike for 0.0 and -0.0 and
for all NaN (and `hll_sketch_agg` itself would leave out empty strings). An answer is a function of the
set of hashes alone: HLL keeps a better estimator for as long as it has seen all values itself, but that
one depends on their order and on how Spark cut them up, so answers are always those of a union.

KLL flips coins: answers over more than k values differ within the bound from run to run. It leaves out
NaN, so these are counted on the side; as everywhere in Spark SQL they are greater than all else.

Cost, a merge: of HLL 1.6 µs while there are few values, then 3 to 5 µs at the default and 25 at an rsd of
0.02; of KLL 1 to 5 µs at the default accuracy. An answer costs 1 to 7 µs more at the defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, log2
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from datasketches import HLL_8, hll_sketch, hll_union, kll_doubles_sketch

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.call import Call
from windrow.aggregates.function import Constant, Function
from windrow.aggregates.operations import ADD_INTEGERS, Algebra, Operation, known, of_objects
from windrow.aggregates.sum import decimals
from windrow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Column = np.ndarray[Any, Any]

LEAST_LG_K = 7
"""The base two logarithm of the number of registers. With fewer, errors are no longer near to normal: of 16
registers, 1.7 % of the answers were off by more than three standard errors, some by eight (measured)."""
LEAST_RSD, MOST_RSD = 0.00072, 0.39
"""A smaller one would take more than the 2^21 registers that DataSketches goes up to; a larger one is
refused by Spark's own function too."""
MOST_ACCURACY = 20_000
"""More would take a k above the 65,535 that DataSketches goes up to."""


def union_distinct(one: bytes, other: bytes) -> bytes:
    """The HLL sketch of the values of both."""
    left, right = hll_sketch.deserialize(one), hll_sketch.deserialize(other)
    union = hll_union(left.lg_config_k)
    union.update(left)
    union.update(right)
    return bytes(union.get_result(HLL_8).serialize_compact())


def merge_quantiles(one: bytes, other: bytes) -> bytes:
    """The KLL sketch of the values of both."""
    merged = kll_doubles_sketch.deserialize(one)
    merged.merge(kll_doubles_sketch.deserialize(other))
    return bytes(merged.serialize())


HLL = known(
    Operation(
        "union_hll", np.object_, None, Algebra(), of_objects(union_distinct), interpreted=True, like="moments"
    )
)
KLL = known(
    Operation(
        "merge_kll",
        np.object_,
        None,
        Algebra(rounds=True),
        of_objects(merge_quantiles),
        interpreted=True,
        like="moments",
    )
)


class SketchPacking:
    """Sketches are bytes in memory too. One without values is None, which costs nothing to merge."""

    types: tuple[type, ...] = ()

    def pack(self, objects: Column) -> pa.Array:
        """The bytes; NULL where there were no values."""
        return pa.array(objects, pa.large_binary())

    def unpack(self, packed: pa.Array) -> Column:
        """The bytes in an array of objects."""
        sketches = np.empty(len(packed), np.object_)
        sketches[:] = [
            written if written is not None and len(written) > EMPTY_BYTES else None
            for written in packed.to_pylist()
        ]
        return sketches


EMPTY_BYTES = 8
"""What a sketch of either kind takes that has seen nothing: a preamble."""
PACKING = SketchPacking()


@dataclass(frozen=True)
class DistinctPartial(Partial):
    """An HLL sketch of the hashes of the values that are not NULL."""

    lg_k: int

    @property
    def value(self) -> str:
        return f"CASE WHEN ({self.argument}) IS NOT NULL THEN xxhash64({self.argument}) END"

    @property
    def expressions(self) -> tuple[str, ...]:
        return (f"hll_sketch_agg({self.value}, {self.lg_k})",)

    @property
    def aggregated_by(self) -> Literal["objects"]:
        return "objects"

    def lift(self, values: pa.Array) -> list[pa.Array]:
        return [pa.array([self._one(value) for value in values.to_pylist()], pa.large_binary())]

    def _one(self, value: int | None) -> bytes | None:
        if value is None:
            return None
        sketch = hll_sketch(self.lg_k, HLL_8)
        sketch.update(value)  # hashes an integer as the JVM does
        return bytes(sketch.serialize_compact())

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        return (RecordColumn(HLL, packing=PACKING, bytes=100 + (1 << self.lg_k)),)

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        return [PACKING.unpack(lifted[0])]


@dataclass(frozen=True)
class QuantilePartial(Partial):
    """How many values are NaN, and a KLL sketch of the others; the argument is a double."""

    k: int

    @property
    def expressions(self) -> tuple[str, ...]:
        return (
            f"count(CASE WHEN isnan({self.argument}) THEN 1 END)",
            f"kll_sketch_agg_double({self.argument}, {self.k})",
        )

    @property
    def aggregated_by(self) -> Literal["objects"]:
        return "objects"

    def lift(self, values: pa.Array) -> list[pa.Array]:
        nan = pc.fill_null(pc.is_nan(values), False)
        numbers = pc.if_else(nan, None, values)
        return [nan.cast(pa.int64()), pa.array(map(self._one, numbers.to_pylist()), pa.large_binary())]

    def _one(self, value: float | None) -> bytes | None:
        if value is None:
            return None
        sketch = kll_doubles_sketch(self.k)
        sketch.update(value)
        return bytes(sketch.serialize())

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        # A sketch that has compacted keeps about 3k numbers.
        return (RecordColumn(ADD_INTEGERS), RecordColumn(KLL, packing=PACKING, bytes=100 + 24 * self.k))

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        nans, sketches = lifted
        return [pc.fill_null(nans, 0).to_numpy(zero_copy_only=False), PACKING.unpack(sketches)]


class ApproximateDistinct(Aggregate):
    """APPROX_COUNT_DISTINCT: 0 when no row had a value."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        (rsd,) = self.call.constants
        return (DistinctPartial(self.argument, lg_k(rsd)),)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        (sketches,) = columns
        return pa.array([0 if sketch is None else round(estimate(sketch)) for sketch in sketches], pa.int64())


def estimate(written: bytes) -> float:
    """How many distinct values a sketch has seen, by the estimator of a union whatever its past."""
    sketch = hll_sketch.deserialize(written)
    union = hll_union(sketch.lg_config_k)
    union.update(sketch)
    union.update(sketch)  # the first one is taken as it is, with what it knows of the order
    return float(union.get_estimate())


class ApproximatePercentile(Aggregate):
    """APPROX_PERCENTILE: NULL when no row had a value; as many answers as percentages in an array."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        _, accuracy = self.call.constants
        return (QuantilePartial(as_double(self.argument, self.argument_type), kll_k(accuracy)),)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        nans, sketches = columns
        wanted = self.call.constants[0]
        several = isinstance(wanted, tuple)
        shares = wanted if several else (wanted,)
        present = np.array([sketch is not None for sketch in sketches], bool) | (nans > 0)
        found = [
            quantile(sketch, nan, share)
            for sketch, nan in zip(map(_read, sketches[present]), nans[present].tolist(), strict=True)
            for share in shares
        ]
        item_type = self.result_type.value_type if several else self.result_type
        values = from_doubles(np.array(found, np.float64), item_type)
        if not several:
            places = np.cumsum(present) - 1
            return values.take(pa.array(places, mask=~present))
        offsets = np.concatenate([[0], np.cumsum(np.where(present, len(shares), 0))]).astype(np.int32)
        lists = pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(~present))
        return lists.cast(self.result_type)


def _read(written: bytes | None) -> Any:
    return None if written is None else kll_doubles_sketch.deserialize(written)


def quantile(sketch: Any, nans: int, share: float) -> float:
    """The least value that a share of all values does not exceed, NaN being the greatest.

    >>> sketch = kll_doubles_sketch(200)
    >>> sketch.update(np.arange(1.0, 8.0))
    >>> quantile(sketch, 0, 0.5), quantile(sketch, 3, 0.5), quantile(sketch, 3, 0.7), quantile(sketch, 3, 0.8)
    (4.0, 5.0, 7.0, nan)
    """
    held = 0 if sketch is None else sketch.n
    rank = max(ceil(share * (held + nans)), 1)
    # Half a rank less, so that rounding cannot make it the next one.
    return float(sketch.get_quantile((rank - 0.5) / held, True)) if rank <= held else float("nan")


def as_double(argument: str, of_type: pa.DataType) -> str:
    """Spark SQL for a number that is ordered as values of a type are."""
    if pat.is_date32(of_type):
        argument = f"unix_date({argument})"
    elif pat.is_timestamp(of_type):
        argument = f"unix_micros({argument})"
    return f"CAST({argument} AS DOUBLE)"


def from_doubles(values: Column, of_type: pa.DataType) -> pa.Array:
    """Values of a type from the numbers that stand for them; out of its range is its end, as in Spark.

    >>> from_doubles(np.array([2.0**63, -7.0]), pa.int64()).to_pylist()
    [9223372036854775807, -7]
    >>> from_doubles(np.array([0.1, 1e38]), pa.decimal128(4, 2)).to_pylist()
    [Decimal('0.10'), Decimal('99.99')]
    """
    if pat.is_floating(of_type):
        return pa.array(values).cast(of_type)
    if pat.is_decimal(of_type):
        shift, most = 10**of_type.scale, 10**of_type.precision - 1
        unscaled = [max(-most, min(most, round(Fraction(value) * shift))) for value in values.tolist()]
        return decimals(unscaled, np.ones(len(values), np.int64), of_type)
    width = 32 if pat.is_date32(of_type) else of_type.bit_width
    most = (1 << (width - 1)) - 1
    whole = pa.array([max(~most, min(most, int(value))) for value in values.tolist()], pa.int64())
    return whole.cast(pa.int32()).cast(of_type) if pat.is_date32(of_type) else whole.cast(of_type)


def lg_k(rsd: float) -> int:
    """The least sketch whose unions have a relative standard error of 1.04 / √2^lg_k ≤ rsd.

    >>> lg_k(0.05), lg_k(0.02), lg_k(LEAST_RSD), lg_k(MOST_RSD)
    (9, 12, 21, 7)
    """
    return max(LEAST_LG_K, ceil(2 * log2(1.04 / rsd)))


def kll_k(accuracy: int) -> int:
    """The least sketch whose error of a rank is, 99 times of 100, at most 1 / accuracy of all values.

    DataSketches has fitted 2.296 / k^0.9723.

    >>> kll_k(75), kll_k(1_000), kll_k(1), kll_k(MOST_ACCURACY)
    (200, 2863, 8, 62348)
    """
    return max(8, ceil((2.296 * accuracy) ** (1 / 0.9723)))


def is_number(value: Any) -> bool:
    """Whether a constant is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_shares(value: Any) -> bool:
    given = value if isinstance(value, tuple) else (value,)
    return bool(given) and all(is_number(share) and 0 <= share <= 1 for share in given)


def _has_map(of_type: pa.DataType) -> bool:
    if pat.is_map(of_type):
        return True
    return pat.is_nested(of_type) and any(_has_map(of_type.field(i).type) for i in range(of_type.num_fields))


def _distinct(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    if _has_map(types[0]):
        raise PlanError(
            f"{call}: values of type {types[0]} cannot be told apart, because Spark hashes no maps"
        )
    return ApproximateDistinct(call, types, answer)


def _percentile(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    (of_type,) = types
    zoned = pat.is_timestamp(of_type) and of_type.tz is not None
    number = pat.is_integer(of_type) or pat.is_floating(of_type) or pat.is_decimal(of_type)
    if not (number or zoned or pat.is_date32(of_type) or pat.is_string(of_type)):
        raise PlanError(
            f"{call}: values of type {of_type} are not supported yet; use numbers, dates or timestamps"
        )
    return ApproximatePercentile(call, types, answer)


def _distinct_answer(call: Call) -> str:
    # Without the rsd: where Spark's own sketch would be large, to plan it takes Spark minutes.
    return replace(call, constants=()).sql


def _percentile_answer(call: Call) -> str:
    return replace(call, function="percentile_approx", constants=call.constants[:1]).sql


FUNCTIONS = {
    "approx_count_distinct": Function(
        _distinct,
        constants=(
            Constant(
                "rsd",
                f"a number from {LEAST_RSD} to {MOST_RSD}",
                lambda value: is_number(value) and LEAST_RSD <= value <= MOST_RSD,
                default=0.05,
            ),
        ),
        answer=_distinct_answer,
    ),
    "approx_percentile": Function(
        _percentile,
        constants=(
            Constant(
                "percentage",
                "a number from 0 to 1 or an array of such",
                _are_shares,
            ),
            Constant(
                "accuracy",
                f"a whole number from 1 to {MOST_ACCURACY}",
                lambda value: isinstance(value, int) and is_number(value) and 1 <= value <= MOST_ACCURACY,
                default=75,
            ),
        ),
        answer=_percentile_answer,
    ),
}
