"""A call of a user's own aggregate in a query: rows lifted in Python, states lowered to answers.

Spark cannot run the user's code in the JVM, so it hands over what each row has to give; a row of which an
argument is NULL, or that FILTER leaves out, gives NULL and lifts to no rows at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.call import EVERY_ROW, Call
from windrow.aggregates.function import Function
from windrow.aggregates.own.function import OwnFunction, raised, shown
from windrow.aggregates.own.numbers import number_operation
from windrow.aggregates.own.objects import OBJECT_BYTES, ObjectPacking, object_operation
from windrow.aggregates.own.operation import made_once
from windrow.errors import PlanError, QueryFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates.operations import Operation

    Array = np.ndarray[Any, Any]


def operation_of(function: OwnFunction) -> Operation:
    """How states of a function merge: numbers in records of fixed width, or objects."""
    return made_once(object_operation if function.is_object else number_operation, function)


@dataclass(frozen=True)
class OwnPartial(Partial):
    """States of the user's. The argument is Spark SQL of what `lift` gets: a value, or a struct of them."""

    function: OwnFunction
    call: Call = field(compare=False)

    lifted_in_python = True

    @property
    def expressions(self) -> tuple[str, ...]:
        return (f"{self.function.name}({self.argument})",)

    @property
    def written(self) -> str:
        return str(self.call)

    def lift(self, values: pa.Array) -> list[pa.Array]:
        # To be the state of a row is up to `encode`, which gets all rows of a batch at once.
        return [values]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        operation = operation_of(self.function)
        if self.function.is_object:
            return (RecordColumn(operation, packing=ObjectPacking(self.function), bytes=OBJECT_BYTES),)
        return (RecordColumn(operation),) * (1 + len(self.function.names))

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        (values,) = lifted
        present = pc.is_valid(values).to_numpy(zero_copy_only=False)
        given = values.filter(pa.array(present))
        arguments = given.flatten() if self.function.arguments > 1 else [given]
        if self.function.is_object:
            objects = np.empty(len(values), object)
            states = lift_objects(self.function, [argument.to_pylist() for argument in arguments])
            for place, state in zip(np.flatnonzero(present), states, strict=True):
                objects[place] = (1, state)
            return [objects]
        dtype = self.function.dtype
        columns = [present.astype(dtype)]
        arrays = [_as_numpy(argument) for argument in arguments]
        for numbers in lift_numbers(self.function, arrays):
            column = np.zeros(len(values), dtype)
            column[present] = numbers
            columns.append(column)
        return columns

    def __str__(self) -> str:
        # At rest, columns have this name: a class whose state has changed must not take them for its own.
        state = "object" if self.function.is_object else ", ".join(self.function.names)
        return f"{self.expressions[0]} of ({state})"


@dataclass(frozen=True)
class OwnCall(Aggregate):
    """NULL when no row had a value."""

    partial: OwnPartial = field(kw_only=True)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (self.partial,)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        function = self.partial.function
        if function.is_object:
            (records,) = columns
            present = np.array([record is not None for record in records], bool)
            answers = lower_objects(function, [record[1] for record in records[present]])
        else:
            present = columns[0] > 0
            answers = lower_numbers(function, [column[present] for column in columns[1:]])
        fitting = as_arrow(function, answers, self.result_type)
        places = np.cumsum(present) - 1
        return fitting.take(pa.array(places, mask=~present))


def _as_numpy(values: pa.Array) -> Array:
    """Values as NumPy has them; decimals as floats, since it has none."""
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    return values.to_numpy(zero_copy_only=False)


def lift_numbers(function: OwnFunction, arrays: list[Array]) -> list[Array]:
    """The states of rows, one array for each number of a state; the values are all there."""
    rows = len(arrays[0])
    if not rows:
        return [np.empty(0, function.dtype) for _ in function.names]
    try:
        with function.calling("lift"):
            returned = function.own.lift(*arrays)
    except QueryFailed as error:
        culprit = _culprit(function, arrays)
        raise error if culprit is None else culprit from error.__cause__
    return [
        _lifted(function, name, numbers, rows)
        for name, numbers in zip(function.names, function.numbers("lift", returned), strict=True)
    ]


def _lifted(function: OwnFunction, name: str, numbers: Any, rows: int) -> Array:
    array = np.asarray(numbers)
    if array.dtype.kind not in ("biuf" if function.kind is float else "biu"):
        kind = "integers" if function.kind is int else "numbers"
        raise function.failed("lift", f"returned {array.dtype} for {name}, not {kind}")
    if array.ndim and array.shape != (rows,):
        raise function.failed(
            "lift", f"returned {shown(array)} for {name}, from {rows} row{'s'[: rows != 1]}; a number a row"
        )
    return np.broadcast_to(array, (rows,)).astype(function.dtype)


def _culprit(function: OwnFunction, arrays: list[Array]) -> QueryFailed | None:
    """The failure of one row by itself, found by halving; None if no row fails alone."""
    rows = len(arrays[0])
    if rows > 1:
        for half in (slice(0, rows // 2), slice(rows // 2, rows)):
            part = [array[half] for array in arrays]
            try:
                with np.errstate(all="ignore"):
                    function.own.lift(*part)
            except (Exception, SystemExit):
                return _culprit(function, part)
        return None
    try:
        with function.calling("lift", *(array[0] for array in arrays)):
            function.own.lift(*arrays)
    except QueryFailed as error:
        return error
    return None


def lift_objects(function: OwnFunction, arguments: list[list[Any]]) -> list[Any]:
    """The states of rows."""
    states = []
    for values in zip(*arguments, strict=True):
        with function.calling("lift", *values):
            states.append(function.own.lift(*values))
    return states


def lower_numbers(function: OwnFunction, columns: list[Array]) -> Any:
    """The answers of windows that have rows."""
    windows = len(columns[0])
    if not windows:
        return []
    with function.calling("lower"):
        answers = function.own.lower(function.state(columns))
    if isinstance(answers, pa.Array | pa.ChunkedArray):
        answers = answers.to_pylist()
    length = len(answers) if hasattr(answers, "__len__") and not isinstance(answers, str | bytes) else None
    if length != windows or (isinstance(answers, np.ndarray) and answers.ndim != 1):
        what = f"returned {shown(answers)} for {windows} window{'s'[: windows != 1]}"
        raise function.failed("lower", f"{what}; it is given arrays, an element a window, and gives one")
    return answers


def lower_objects(function: OwnFunction, states: list[Any]) -> list[Any]:
    """The answers of windows that have rows."""
    answers = []
    for state in states:
        with function.calling("lower", state):
            answers.append(function.own.lower(state))
    return answers


def as_arrow(function: OwnFunction, answers: Any, of_type: pa.DataType) -> pa.Array:
    """Answers in the type that the class promises."""
    try:
        if isinstance(answers, np.ma.MaskedArray):
            return pa.array(answers.data, mask=np.ma.getmaskarray(answers)).cast(of_type)
        if isinstance(answers, np.ndarray) and answers.dtype != object:
            return pa.array(answers).cast(of_type)
        values = [value.item() if isinstance(value, np.generic) else value for value in answers]
        return pa.array(values, of_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        example = next((shown(value) for value in answers if not _fits(value, of_type)), "something")
        raise function.failed(
            "lower",
            f"returned {example}, which does not fit in its result, {function.own.result} ({raised(error)})",
        ) from error


def _fits(value: Any, of_type: pa.DataType) -> bool:
    try:
        pa.array([value.item() if isinstance(value, np.generic) else value]).cast(of_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def function_for_queries(function: OwnFunction) -> Function:
    """What binding knows of it."""
    return Function(
        partial(_own_call, function),
        arguments=function.arguments,
        answer=lambda call: f"CAST(NULL AS {function.own.result})",
    )


def _own_call(
    function: OwnFunction, call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType
) -> Aggregate:
    if EVERY_ROW in call.arguments:
        raise PlanError(f"{call.function.upper()} takes values, not *")
    return OwnCall(call, types, answer, partial=OwnPartial(_values_sql(call), function, call))


def _values_sql(call: Call) -> str:
    """What a row has to give: a value, or a struct of them that is NULL if one of them is."""
    if len(call.arguments) == 1:
        return call.argument
    fields = ", ".join(f"'_{place}', {sql}" for place, sql in enumerate(call.arguments))
    conditions = [f"({sql}) IS NOT NULL" for sql in call.arguments]
    if call.where is not None:
        conditions.insert(0, f"({call.where})")
    return f"CASE WHEN {' AND '.join(conditions)} THEN named_struct({fields}) END"
