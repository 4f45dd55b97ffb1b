"""States of numbers: records of fixed width, merged by the user's own `combine`, compiled where possible.

A record is how many rows it stands for, then the numbers of the state. A record of no rows is all zeros,
and the user's methods never see it; one that loses its last row by `inverse` is set to zeros again, so
that nothing is left over, neither rounding nor an infinity.

Where Numba cannot compile a method, or where what it returns is not always a state, all run interpreted.

Cost: compiled, that of the user's expressions; interpreted, some microseconds an operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.aggregates.own.compiled import compiled, state_shape
from windrow.aggregates.own.function import shown, shown_all
from windrow.aggregates.own.operation import OwnOperation, algebra_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.aggregates.operations import Operation
    from windrow.aggregates.own.function import OwnFunction

    Array = np.ndarray[Any, Any]


def number_operation(function: OwnFunction) -> Operation:
    """How records of numbers merge."""
    own = function.own
    methods = {"combine": own.combine} | ({"inverse": own.inverse} if own.inverse is not None else {})
    found = {name: compiled(function, name, method) for name, method in methods.items()}
    failures = [f"its {name} is interpreted: {why}" for name, (_, why) in found.items() if why]
    if failures:
        functions = {name: _interpreted(function, name) for name in methods}
    else:
        functions = {name: made for name, (made, _) in found.items() if made is not None}
    return OwnOperation(
        function.name,
        function.dtype,
        function.kind(0),
        algebra_of(function),
        functions["combine"],
        functions.get("inverse"),
        interpreted=bool(failures),
        like=_like(function),
        note="; ".join(failures) or f"its {' and '.join(methods)} {'are' if own.inverse else 'is'} compiled",
        function=function,
        make=number_operation,
    )


def _like(function: OwnFunction) -> str:
    if function.own.inverse is None:
        return "moments"
    return "add_integers" if function.exact else "add_floats"


def _interpreted(function: OwnFunction, method: str) -> Callable[..., None]:
    """A method that works on records in plain Python, looking at what the method returns."""
    call, adds = getattr(function.own, method), method == "combine"
    stride = len(function.names) + 1

    def merge(left: Array, i: int, right: Array, j: int, out: Array, k: int) -> None:
        for column in range(0, left.shape[1], stride):
            record = slice(column, column + stride)
            n, m = left[i, column], right[j, column]
            if adds and n == 0:
                out[k, record] = right[j, record]
            elif not adds and n <= m:
                out[k, record] = 0
            elif m == 0:
                out[k, record] = left[i, record]
            else:
                a, b = (function.state(side[1:]) for side in (left[i, record], right[j, record]))
                merged = merged_state(function, method, call, a, b)
                out[k, column + 1 : column + stride] = merged
                out[k, column] = n + m if adds else n - m

    return merge


def merged_state(function: OwnFunction, method: str, call: Any, a: Any, b: Any) -> tuple[Any, ...]:
    """The numbers that `combine` or `inverse` gives for two states."""
    with function.calling(method, a, b):
        returned = call(a, b)
    numbers = function.numbers(method, returned)
    for number in numbers:
        fits = isinstance(number, int | np.integer | np.bool_)
        if not fits and not (function.kind is float and isinstance(number, float | np.floating)):
            problem = f"not {state_shape(function)}"
        elif function.kind is int and not -(2**63) <= number < 2**63:
            problem = "which does not fit in 64 bits"
        else:
            continue
        raise function.failed(method, f"returned {shown(returned)}, given {shown_all((a, b))}, {problem}")
    return numbers
