"""Compile a kernel for one operation and record width, and keep the machine code on disk.

A kernel is a plain loop that calls the global names `combine` and `inverse`, for records of WIDTH
columns, and may call *parts*: smaller kernels of an algorithm, such as `insert`. Binding these names in
a copy of the kernel has two reasons. Numba can take functions as arguments, but does not cache such
kernels (measured: 0.25 to 0.9 s of compilation each, in every process). And a width that the compiler
knows makes the loop over columns disappear (measured: 7 ns a slide against 40 at one column). The
copy's name carries a fingerprint of what is bound, because Numba's cache does not notice when that
changes.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.aggregates import Operation

Part = tuple[str, "Callable[..., Any]"]


@cache
def specialise(
    kernel: Callable[..., Any], operation: Operation, width: int, parts: tuple[Part, ...] = ()
) -> Callable[..., Any]:
    """`kernel` with `combine`, `inverse`, WIDTH, COMMUTATIVE and its parts bound, compiled."""
    functions: list[Part] = [("combine", operation.combine)]
    if operation.inverse is not None:
        functions.append(("inverse", operation.inverse))
    constants = {"WIDTH": width, "COMMUTATIVE": operation.algebra.commutative}
    fingerprint = sha256(repr(constants).encode())
    bound: dict[str, Any] = dict(constants)
    for name, function in (*functions, *parts):
        fingerprint.update(name.encode())
        _add(fingerprint, _code(function))
        # A part may call the parts before it.
        copy = function if operation.interpreted and not _is_kernel(function) else _copy(function, bound)
        bound[name] = copy if operation.interpreted else njit(copy)
    name = f"{kernel.__name__}_{operation.name}_{width}_{fingerprint.hexdigest()[:8]}"
    copy = _copy(kernel, bound, name)
    return copy if operation.interpreted else cast("Callable[..., Any]", njit(cache=True)(copy))


def _add(fingerprint: Any, code: CodeType) -> None:
    fingerprint.update(code.co_code + repr(code.co_consts).encode() + repr(code.co_names).encode())


def _code(function: Callable[..., Any]) -> CodeType:
    return cast("FunctionType", function).__code__


def _is_kernel(function: Callable[..., Any]) -> bool:
    """Whether a function is free of a closure, so that it can be copied with other globals."""
    return not cast("FunctionType", function).__closure__


def _copy(function: Callable[..., Any], names: dict[str, Any], name: str | None = None) -> FunctionType:
    original = cast("FunctionType", function)
    copy = FunctionType(original.__code__, {**original.__globals__, **names}, original.__name__)
    copy.__module__ = original.__module__
    copy.__qualname__ = name or original.__name__
    return copy
