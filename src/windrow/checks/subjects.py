"""What laws are about: a user's class, or an operation of ours, by the same few verbs."""

from __future__ import annotations

import copy
import math
import pickle
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from windrow.aggregates.own.call import (
    as_arrow,
    lift_numbers,
    lift_objects,
    lower_numbers,
    lower_objects,
    operation_of,
)
from windrow.aggregates.own.function import OwnFunction
from windrow.aggregates.own.numbers import merged_state
from windrow.aggregates.own.objects import ObjectPacking
from windrow.checks.result_types import arrow_type
from windrow.final.specialise import bound, specialise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Operation

    combine: Any


class Subject(Protocol):
    """Something with states that merge."""

    name: str

    @property
    def operation(self) -> Operation:
        """How records merge."""

    def lift(self, values: Sequence[Any]) -> list[Any]:
        """The states of values, one each, lifted together."""

    def combine(self, a: Any, b: Any) -> Any:
        """One state of two."""

    def inverse(self, a: Any, b: Any) -> Any:
        """The state of `a` without that of `b`, which came first."""

    def numbers(self, state: Any) -> tuple[float, ...] | None:
        """What a state is made from; None if it is no numbers."""

    def same(self, a: Any, b: Any, tolerance: float, among: Sequence[Any] = ()) -> bool:
        """Whether two states are equal, as exactly as states of the size of those `among` can be."""

    def record(self, state: Any) -> list[Any]:
        """The state as a record."""


def fold(subject: Subject, values: Sequence[Any]) -> Any:
    """The state of all values, one by one from the first."""
    return reduce(subject.combine, subject.lift(values))


def folded_records(subject: Subject, records: list[list[Any]]) -> list[Any]:
    """The record of all records, by the functions that windows run, compiled if they are."""
    operation = subject.operation
    matrix = operation.empty(len(records), len(records[0]))
    for place, record in enumerate(records):
        for column, value in enumerate(record):
            matrix[place, column] = value
    specialise(_fold, operation, len(records[0]))(matrix)
    return list(matrix[0])


def _fold(records: Any) -> None:
    for row in range(1, len(records)):
        combine(records, 0, records, row, records, 0)


def same_numbers(
    a: Sequence[Any], b: Sequence[Any], tolerance: float, among: Sequence[Sequence[Any]]
) -> bool:
    """Number by number: within the tolerance of the largest that the numbers came from."""
    for place, (one, other) in enumerate(zip(a, b, strict=True)):
        if one == other or (one != one and other != other):
            continue
        if not (math.isfinite(one) and math.isfinite(other)):
            return False
        sizes = [abs(state[place]) for state in among if math.isfinite(state[place])]
        if abs(one - other) > tolerance * max(abs(one), abs(other), sum(sizes)):
            return False
    return True


class OwnSubject:
    """A user's class."""

    def __init__(self, function: OwnFunction) -> None:
        self.function = function
        self.name = type(function.own).__name__
        self.result_type = arrow_type(function.own.result)

    @property
    def operation(self) -> Operation:
        """How records merge; compiled when it is first asked for."""
        return operation_of(self.function)

    def lift(self, values: Sequence[Any]) -> list[Any]:
        columns = list(zip(*values, strict=True)) if self.function.arguments > 1 else [values]
        if self.function.is_object:
            return lift_objects(self.function, [list(column) for column in columns])
        numbers = lift_numbers(self.function, [np.array(column) for column in columns])
        return [self.function.state(state) for state in zip(*numbers, strict=True)]

    def combine(self, a: Any, b: Any) -> Any:
        return self._merge("combine", a, b)

    def inverse(self, a: Any, b: Any) -> Any:
        return self._merge("inverse", a, b)

    def _merge(self, method: str, a: Any, b: Any) -> Any:
        call = getattr(self.function.own, method)
        if self.function.is_object:
            with self.function.calling(method, a, b):
                return call(a, b)
        merged = merged_state(self.function, method, call, a, b)
        return self.function.state([self.function.dtype(number) for number in merged])

    def numbers(self, state: Any) -> tuple[float, ...] | None:
        if self.function.is_object:
            return None
        return (state,) if self.function.is_scalar else state

    def same(self, a: Any, b: Any, tolerance: float, among: Sequence[Any] = ()) -> bool:
        if not self.function.is_object:
            one, other, *rest = (self.numbers(state) or () for state in (a, b, *among))
            return same_numbers(one, other, tolerance, rest)
        if _equal(a, b) or (not has_equality(a) and self.packed(a) == self.packed(b)):
            return True
        one, other = self.lower([a, b])
        return same_answers(one, other, tolerance)

    def record(self, state: Any) -> list[Any]:
        numbers = self.numbers(state)
        return [(1, state)] if numbers is None else [1, *numbers]

    def lower(self, states: Sequence[Any]) -> list[Any]:
        """The answers of windows with these states, lowered together."""
        if self.function.is_object:
            answers = lower_objects(self.function, list(states))
        else:
            columns = zip(*(self.numbers(state) or () for state in states), strict=True)
            answers = lower_numbers(self.function, [np.array(c, self.function.dtype) for c in columns])
        if self.result_type is None:
            return list(answers)
        return list(as_arrow(self.function, answers, self.result_type).to_pylist())

    def packed(self, state: Any) -> Any:
        """The state at rest."""
        if not self.function.is_object:
            return state
        objects = np.empty(1, object)
        objects[0] = (1, state)
        return ObjectPacking(self.function).pack(objects)

    def unpacked(self, packed: Any) -> Any:
        """The state again."""
        if not self.function.is_object:
            return packed
        return ObjectPacking(self.function).unpack(packed)[0][1]

    def untouched(self, state: Any) -> Any:
        """A copy, to compare with later."""
        try:
            return copy.deepcopy(state)
        except Exception:
            return pickle.loads(pickle.dumps(state))


class OperationSubject:
    """One of the operations that the built-in aggregates are made from; its values are records."""

    def __init__(self, operation: Operation) -> None:
        self.operation: Operation = operation
        self.name = operation.name

    def lift(self, values: Sequence[Any]) -> list[Any]:
        return [
            tuple(self.operation.dtype(part) for part in (value if isinstance(value, tuple) else (value,)))
            for value in values
        ]

    def combine(self, a: Any, b: Any) -> Any:
        return self._run(self.operation.combine, a, b)

    def inverse(self, a: Any, b: Any) -> Any:
        assert self.operation.inverse is not None
        return self._run(self.operation.inverse, a, b)

    def _run(self, function: Any, a: Any, b: Any) -> Any:
        records = np.array([a, b], self.operation.dtype)
        bound(function, WIDTH=len(a))(records, 0, records, 1, records, 0)
        return tuple(records[0])

    def numbers(self, state: Any) -> tuple[float, ...] | None:
        return state

    def same(self, a: Any, b: Any, tolerance: float, among: Sequence[Any] = ()) -> bool:
        return same_numbers(a, b, tolerance if self.operation.algebra.rounds else 0.0, among)

    def record(self, state: Any) -> list[Any]:
        return list(state)


def has_equality(state: Any) -> bool:
    """Whether states of this type say themselves when they are equal."""
    return any("__eq__" in vars(cls) for cls in type(state).__mro__[:-1])


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:
        return False


def same_answers(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two answers are equal, floats within a tolerance."""
    if isinstance(a, float) and isinstance(b, float):
        return same_numbers((a,), (b,), tolerance, [])
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same_answers(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return _equal(a, b)
