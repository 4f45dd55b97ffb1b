"""Compile a kernel for one operation and record width, and keep the machine code on disk.

A kernel is a plain loop that calls the global names `combine` and `inverse`, for records of WIDTH
columns, and may call *parts*: smaller kernels of an algorithm, such as `insert`. Binding these names in
a copy of the kernel has two reasons. Numba can take functions as arguments, but does not cache such
kernels (measured: 0.25 to 0.9 s of compilation each, in every process). And a width that the compiler
knows makes the loop over columns disappear (measured: 7 ns a slide against 40 at one column). The
copy's name carries a fingerprint of what is bound, because Numba's cache does not notice when that
changes.

Parts are inlined before compilation, and nothing is counted by reference: kernels allocate nothing, and
counting every array at every call made a slide of two stacks 200 ns instead of 27 (measured).
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from numba import njit
from numba.core.dispatcher import Dispatcher

from windrow.machine_code import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.aggregates import Operation

KernelPart = tuple[str, "Callable[..., Any]"]
"""A function that a kernel calls, under the name by which it does."""
WITHOUT_REFERENCES: dict[str, Any] = {"_nrt": False}


@cache
def specialise(
    kernel: Callable[..., Any], operation: Operation, width: int, parts: tuple[KernelPart, ...] = ()
) -> Callable[..., Any]:
    """`kernel` with `combine`, `inverse`, WIDTH, COMMUTATIVE and its parts bound, compiled."""
    functions: list[KernelPart] = [("combine", operation.combine)]
    if operation.inverse is not None:
        functions.append(("inverse", operation.inverse))
    names: dict[str, Any] = {"WIDTH": width, "COMMUTATIVE": operation.algebra.commutative}
    fingerprint = sha256(repr(names).encode())
    for name, function in (*functions, *parts):
        fingerprint.update(name.encode())
        add_code(fingerprint, function)
        # A part may call the parts before it. An interpreted operation's functions are called as they are.
        if not operation.interpreted:
            names[name] = njit(inline="always", **WITHOUT_REFERENCES)(bound(function, **names))
        else:
            names[name] = function if (name, function) in functions else bound(function, **names)
    copy = bound(kernel, **names)
    if operation.interpreted:
        return copy
    copy.__qualname__ = f"{kernel.__name__}_{operation.name}_{width}_{fingerprint.hexdigest()[:8]}"
    return operation.guarded(compiled(copy, **WITHOUT_REFERENCES))


def bound(function: Callable[..., Any], **names: Any) -> FunctionType:
    """A copy of a function for which some global names mean something else."""
    original = cast("FunctionType", function)
    copy = FunctionType(original.__code__, {**original.__globals__, **names}, original.__name__)
    copy.__module__ = original.__module__
    copy.__qualname__ = original.__name__
    return copy


def add_code(fingerprint: Any, function: Callable[..., Any]) -> None:
    """Add the code of a function, the constants that it refers to, and the code of what it calls."""
    original = cast("FunctionType", function)
    code = original.__code__
    fingerprint.update(code.co_code + repr(code.co_consts).encode())
    for name in code.co_names:
        fingerprint.update(name.encode())
        value = original.__globals__.get(name)
        if isinstance(value, int | float | str):
            fingerprint.update(repr(value).encode())
        elif isinstance(value, Dispatcher):
            add_code(fingerprint, value.py_func)
