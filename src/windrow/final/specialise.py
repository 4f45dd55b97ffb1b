"""Compile a kernel for one operation and record width, and keep the machine code on disk.

A kernel is a plain loop that calls the global names `combine` and `inverse`, for records of WIDTH
columns. Binding these names in a copy of the kernel has two reasons. Numba can take functions as
arguments, but does not cache such kernels (measured: 0.25 to 0.9 s of compilation each, in every
process). And a width that the compiler knows makes the loop over columns disappear (measured: 7 ns a
slide against 40 at one column). The copy's name carries a fingerprint of the operation, because
Numba's cache does not notice when that changes.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.aggregates import Operation


@cache
def specialise(kernel: Callable[..., Any], operation: Operation, width: int) -> Callable[..., Any]:
    """`kernel` with `combine`, `inverse` and WIDTH bound, compiled."""
    functions = {"combine": operation.combine, "inverse": operation.inverse}
    bound: dict[str, Any] = {"WIDTH": width}
    fingerprint = sha256()
    for name, function in functions.items():
        if function is not None:
            code = cast("FunctionType", function).__code__
            fingerprint.update(code.co_code + repr(code.co_consts).encode())
            bound[name] = njit(_copy(function, {"WIDTH": width}, function.__name__))
    name = f"{kernel.__name__}_{operation.name}_{width}_{fingerprint.hexdigest()[:8]}"
    return cast("Callable[..., Any]", njit(cache=True)(_copy(kernel, bound, name)))


def _copy(function: Callable[..., Any], names: dict[str, Any], name: str) -> FunctionType:
    original = cast("FunctionType", function)
    copy = FunctionType(original.__code__, {**original.__globals__, **names}, original.__name__)
    copy.__module__ = original.__module__
    copy.__qualname__ = name
    return copy
