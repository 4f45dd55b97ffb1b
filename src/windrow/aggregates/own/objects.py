"""States that are Python objects: merged by the user's own methods, one call an operation.

A record is a pair: how many rows it stands for, and the object; None stands for no rows at all. At rest
it is the count in eight bytes, then the object as the class packs it, or pickled where it is made of plain
values and of types that the class lists (`pickled_states.py`).

Cost: a call into Python an operation, some microseconds, whatever the object takes.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.own.function import shown
from windrow.aggregates.own.operation import OwnOperation, algebra_of
from windrow.aggregates.own.pickled_states import UnknownType, pickled, unpickled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from windrow.aggregates.operations import Operation
    from windrow.aggregates.own.function import OwnFunction

    Array = np.ndarray[Any, Any]

COUNT_BYTES = 8
OBJECT_BYTES = 256
"""What an object is taken to need, for want of a better guess."""


def object_operation(function: OwnFunction) -> Operation:
    """How records of one object merge."""
    inverse = None if function.own.inverse is None else _without(function)
    return OwnOperation(
        function.name,
        np.object_,
        None,
        algebra_of(function),
        _together(function),
        inverse,
        interpreted=True,
        like="moments" if inverse is None else "add_integers" if function.exact else "add_floats",
        note="its states are Python objects",
        function=function,
        make=object_operation,
    )


def _together(function: OwnFunction) -> Callable[..., None]:
    def merge(left: Array, i: int, right: Array, j: int, out: Array, k: int) -> None:
        for column in range(left.shape[1]):
            a, b = left[i, column], right[j, column]
            if a is None or b is None:
                out[k, column] = b if a is None else a
            else:
                with function.calling("combine", a[1], b[1]):
                    out[k, column] = (a[0] + b[0], function.own.combine(a[1], b[1]))

    return merge


def _without(function: OwnFunction) -> Callable[..., None]:
    inverse = function.own.inverse
    assert inverse is not None

    def undo(left: Array, i: int, right: Array, j: int, out: Array, k: int) -> None:
        for column in range(left.shape[1]):
            a, b = left[i, column], right[j, column]
            if a is None or b is None:
                out[k, column] = a
            elif a[0] <= b[0]:
                out[k, column] = None
            else:
                with function.calling("inverse", a[1], b[1]):
                    out[k, column] = (a[0] - b[0], inverse(a[1], b[1]))

    return undo


@dataclass(frozen=True, eq=False)
class ObjectPacking:
    """Records of objects at rest."""

    function: OwnFunction

    def pack(self, objects: Array) -> pa.Array:
        """Bytes; NULL for no rows."""
        packed = [None if held is None else self._packed(*held) for held in objects]
        return pa.array(packed, pa.large_binary())

    def unpack(self, packed: pa.Array) -> Array:
        """The objects again."""
        objects = np.empty(len(packed), object)
        for place, data in enumerate(packed.to_pylist()):
            if data is not None:
                objects[place] = self._unpacked(data)
        return objects

    @property
    def types(self) -> tuple[type, ...]:
        """The types that objects may be of, beside plain ones."""
        return self.function.state_types

    def _packed(self, count: int, held: Any) -> bytes:
        pack = self.function.own.pack
        with self._calling("pack" if pack is not None else "pickling", held):
            data = pickled(held, self.types) if pack is None else pack(held)
        if not isinstance(data, bytes | bytearray):
            raise self.function.failed("pack", f"returned {shown(data)}, not bytes")
        return count.to_bytes(COUNT_BYTES, "little") + data

    def _unpacked(self, data: bytes) -> tuple[int, Any]:
        unpack = self.function.own.unpack
        count, rest = int.from_bytes(data[:COUNT_BYTES], "little"), data[COUNT_BYTES:]
        with self._calling("unpack" if unpack is not None else "unpickling", rest):
            return count, unpickled(rest, self.types) if unpack is None else unpack(rest)

    @contextmanager
    def _calling(self, method: str, given: Any) -> Iterator[None]:
        try:
            with self.function.calling(method, given):
                yield
        except UnknownType as error:
            raise self.function.failed(method, f"failed: {error}") from error
