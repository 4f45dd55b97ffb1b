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

from windrow.final.specialise import add_code, bound
from windrow.machine_code import compiled

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def bind(kernel: Callable[..., Any], **functions: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel` with its free names bound to `functions`, compiled.

    >>> import numpy as np
    >>> from windrow.final.arrays.blocked import _fold
    >>> bind(_fold, join=lambda a, b: a + b)(np.array([20, 22]), 0)
    42
    """
    fingerprint = sha256()
    for name in sorted(functions):
        fingerprint.update(name.encode())
        add_code(fingerprint, functions[name])
    names = tuple((name, _compiled(function)) for name, function in functions.items())
    return _bound(cast("FunctionType", kernel), names, fingerprint.hexdigest()[:8])


@cache
def _bound(function: FunctionType, names: tuple[tuple[str, Any], ...], mark: str) -> Callable[..., Any]:
    parts = {
        name: _bound(part, names, mark)
        for name in function.__code__.co_names
        if isinstance(part := function.__globals__.get(name), FunctionType)
        and part.__module__ == function.__module__
    }
    copy = bound(function, **dict(names), **parts)
    # Numba's cache goes by the name and does not notice when what is bound changes.
    copy.__qualname__ = f"{function.__name__}_{mark}"
    return cast("Callable[..., Any]", compiled(copy, nogil=True))


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return cast("Callable[..., Any]", njit(function))
