"""Compile a kernel for one operation, and keep the machine code on disk.

A kernel is a plain loop that calls the global names `combine` and `inverse`. Numba can also take
functions as arguments, but does not cache such kernels (measured: about 0.3 s of compilation each,
in every process); a copy of the kernel with the names bound is cached like any other function. The
copy's name carries a fingerprint of the operation, because Numba does not notice when it changes.
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
def specialise(kernel: FunctionType, operation: Operation) -> Callable[..., Any]:
    """`kernel` with `combine` and `inverse` bound to the operation's, compiled."""
    bound = {"combine": operation.combine, "inverse": operation.inverse}
    functions: list[Any] = [operation.combine, operation.inverse]
    codes = [function.py_func.__code__ for function in functions if function is not None]
    fingerprint = sha256(b"".join(c.co_code + repr(c.co_consts).encode() for c in codes)).hexdigest()[:8]
    copy = FunctionType(
        kernel.__code__, {**kernel.__globals__, **bound}, kernel.__name__, kernel.__defaults__
    )
    copy.__module__ = kernel.__module__
    copy.__qualname__ = f"{kernel.__name__}_{operation.name}_{fingerprint}"
    return cast("Callable[..., Any]", njit(cache=True)(copy))
