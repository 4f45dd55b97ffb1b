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
    code = b"".join(
        function.py_func.__code__.co_code + repr(function.py_func.__code__.co_consts).encode()
        for function in cast("list[Any]", [operation.combine, operation.inverse])
        if function is not None
    )
    copy = FunctionType(kernel.__code__, {**kernel.__globals__, **bound}, kernel.__name__, kernel.__defaults__)
    copy.__module__ = kernel.__module__
    copy.__qualname__ = f"{kernel.__name__}_{operation.name}_{sha256(code).hexdigest()[:8]}"
    return cast("Callable[..., Any]", njit(cache=True)(copy))
