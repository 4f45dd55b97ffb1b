"""Compile a kernel for one scalar operation, and keep the machine code on disk.

A kernel calls the global name `join` (others: `lift`, `lower`, …); binding such names in a copy of the
kernel, rather than passing functions, lets Numba cache the result (see `final/specialise.py`, which does
the same for records). Functions of the kernel's own module that it calls are bound along with it.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def bind(kernel: Callable[..., Any], **functions: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel` with its free names bound to `functions`, compiled.

    >>> def twice(value):
    ...     return join(value, value)
    >>> import operator
    >>> bind(twice, join=lambda a, b: a + b)(21)
    42
    """
    compiled = {name: njit(function) for name, function in functions.items()}
    fingerprint = sha256()
    for name in sorted(functions):
        code = cast("FunctionType", functions[name]).__code__
        fingerprint.update(name.encode() + code.co_code + repr(code.co_consts).encode())
    return _compiled(cast("FunctionType", kernel), compiled, fingerprint.hexdigest()[:8])


def _compiled(function: FunctionType, names: dict[str, Any], mark: str) -> Callable[..., Any]:
    parts = {
        name: _compiled(part, names, mark)
        for name in function.__code__.co_names
        if isinstance(part := function.__globals__.get(name), FunctionType)
        and part.__module__ == function.__module__
    }
    copy = FunctionType(function.__code__, {**function.__globals__, **names, **parts}, function.__name__)
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__name__}_{mark}"
    return cast("Callable[..., Any]", njit(cache=True, nogil=True)(copy))
