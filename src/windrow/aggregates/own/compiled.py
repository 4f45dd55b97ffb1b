"""A user's `combine` or `inverse` for Numba: compiled for tuples of numbers, in a function on records.

1. The method is compiled by itself, to see whether Numba can, and whether it always returns a state.
   `self` becomes the numbers that the method takes from it.
2. A function on records is generated around it, for the width of the state, because Numba wants tuples
   of a length that it knows. Its docstring carries a fingerprint of the user's code: kernels are kept on
   disk under a name made from that, see `final/specialise.py`.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections import namedtuple
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from types import CodeType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.utils import _dynamic_modname, _dynamic_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from windrow.aggregates.own.function import OwnFunction

types: Any = numba.types
typeof: Any = numba.typeof
njit: Any = numba.njit

# Kernels on disk remember the module of each function that they call. For one that cannot be imported, as
# `windrow check FILE.py` and `__main__` have, Numba writes down a stand-in, and does not find it again.
sys.modules.setdefault(_dynamic_modname, _dynamic_module)

WITHOUT_REFERENCES: dict[str, Any] = {"_nrt": False}
"""As the kernels that call it are compiled: so nothing can be allocated, and strings and arrays are not for
compiled methods."""

KERNEL = '''\
def {name}(left, i, right, j, out, k):
    """{fingerprint}"""
    for column in range(0, WIDTH, {stride}):
        n, m = left[i, column], right[j, column]
        if {nothing_left}:
            {absent}
        elif m == 0:
            {keep}
        else:
            s = method({own}{left}, {right})
            out[k, column] = n {sign} m
            {store}
'''


def compiled(function: OwnFunction, name: str, method: Any) -> tuple[Callable[..., None] | None, str]:
    """A method on records for Numba to compile; or None, and why that cannot be."""
    plain = method.__func__ if inspect.ismethod(method) else method
    if not inspect.isfunction(plain):
        return None, "it is no function of Python"
    taken = _numbers_of_self(function, plain) if inspect.ismethod(method) else None
    return _compiled_once(plain, taken, repr(taken), name, state_shape(function))


@dataclass(frozen=True)
class StateShape:
    """What states are, for the compiler."""

    kind: type
    width: int
    scalar: bool

    def __str__(self) -> str:
        kind = "integer" if self.kind is int else "number"
        return f"one {kind}" if self.scalar else f"a tuple of {self.width} {kind}s"


def state_shape(function: OwnFunction) -> StateShape:
    """The shape of a function's states."""
    return StateShape(function.kind, len(function.names), function.is_scalar)


@cache
def _compiled_once(
    plain: Any, taken: Any, spelled: str, name: str, shape: StateShape
) -> tuple[Callable[..., None] | None, str]:
    """A method compiled by itself: engines that are given the same class do not compile it again.

    `spelled` tells apart what is taken where it is equal, as 1 and 1.0 are.
    """
    number = types.float64 if shape.kind is float else types.int64
    state = number if shape.scalar else types.UniTuple(number, shape.width)
    dispatcher = njit(error_model="numpy", **WITHOUT_REFERENCES)(plain)
    signature = (state, state) if taken is None else (typeof(taken), state, state)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dispatcher.compile(signature)
        returned = dispatcher.overloads[signature].signature.return_type
    except Exception as error:  # of any kind: what Numba raises is up to Numba
        return None, f"Numba cannot compile it ({_first_line(error)})"
    if not _is_state(returned, shape):
        return None, f"it does not always return {shape}"
    source = _kernel(shape, name, _fingerprint(plain, taken), with_self=taken is not None)
    scope: dict[str, Any] = {"method": dispatcher, "SELF": taken}
    exec(compile(source, f"<{name}>", "exec"), scope)
    return scope[name], ""


def _numbers_of_self(function: OwnFunction, method: Any) -> Any:
    """The numbers that a method takes from `self`, under the same names; 0 if there are none.

    Others it may take too, and is then not compiled.
    """
    held = {name: getattr(function.own, name, None) for name in sorted(set(method.__code__.co_names))}
    numbers = {
        name: value
        for name, value in held.items()
        if isinstance(value, int | float) and not name.startswith("_")
    }
    return namedtuple("Self", numbers)(**numbers) if numbers else 0


def _is_state(returned: Any, shape: StateShape) -> bool:
    kinds = (types.Integer, types.Boolean) + ((types.Float,) if shape.kind is float else ())
    if shape.scalar:
        return isinstance(returned, kinds)
    if not isinstance(returned, types.BaseTuple) or len(returned) != shape.width:
        return False
    return all(isinstance(part, kinds) for part in returned)


def _kernel(shape: StateShape, name: str, fingerprint: str, *, with_self: bool) -> str:
    places = range(1, shape.width + 1)

    def state(side: str, at: str) -> str:
        numbers = [f"{side}[{at}, column + {place}]" for place in places]
        return numbers[0] if shape.scalar else f"({', '.join(numbers)},)"

    def assign(values: Sequence[str]) -> str:
        return "\n            ".join(
            f"out[k, column + {place}] = {value}" if place else f"out[k, column] = {value}"
            for place, value in enumerate(values, start=len(places) + 1 - len(values))
        )

    def copy(side: str, at: str) -> str:
        return assign([f"{side}[{at}, column + {place}]" for place in (0, *places)])

    adds = name != "inverse"
    return KERNEL.format(
        name=name,
        fingerprint=fingerprint,
        stride=len(places) + 1,
        nothing_left="n == 0" if adds else "n <= m",
        absent=copy("right", "j") if adds else assign(["0"] * (len(places) + 1)),
        keep=copy("left", "i"),
        own="SELF, " if with_self else "",
        left=state("left", "i"),
        right=state("right", "j"),
        sign="+" if adds else "-",
        store=assign(["s"] if shape.scalar else [f"s[{place}]" for place in range(len(places))]),
    )


def _fingerprint(function: Any, taken: Any) -> str:
    """Changes when the code does, or a value that it refers to."""
    fingerprint = sha256(repr(taken).encode())
    _add(fingerprint, function, set())
    return fingerprint.hexdigest()[:16]


def _add(fingerprint: Any, value: Any, seen: set[int]) -> None:
    if isinstance(value, Dispatcher):
        value = value.py_func
    if not inspect.isfunction(value):
        # What Numba takes as a constant has a repr that says it all, a large array aside.
        fingerprint.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    _add_code(fingerprint, value.__code__)
    fingerprint.update(repr(value.__defaults__).encode())
    cells = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
    for name in (*value.__code__.co_names, *value.__code__.co_freevars):
        if name in cells:
            _add(fingerprint, cells[name].cell_contents, seen)
        elif name in value.__globals__:
            _add(fingerprint, value.__globals__[name], seen)


def _add_code(fingerprint: Any, code: CodeType) -> None:
    fingerprint.update(code.co_code + repr((code.co_names, code.co_varnames)).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(fingerprint, constant)
        else:
            fingerprint.update(repr(constant).encode())


def _first_line(error: Exception) -> str:
    """The line of Numba's message that says what it is about."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = next((line for line in lines if not line.startswith(("Failed in", "- "))), type(error).__name__)
    told = "".join(character for character in told if character.isprintable())
    return told.replace("[1m", "").replace("[0m", "")[:120]
