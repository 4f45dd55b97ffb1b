"""States of numbers: records of fixed width, merged by the user's own `combine`, compiled where possible.

A record is how many rows it stands for, then the numbers of the state. A record of no rows is all zeros,
and the user's methods never see it; one that loses its last row by `inverse` is set to zeros again, so
that nothing is left over, neither rounding nor an infinity.

1. `combine` and `inverse` are compiled for tuples of numbers. `self` becomes the numbers that they take
   from it. Where Numba cannot, or where what they return is not a state, they run interpreted.
2. A function on records is generated around them, for the width of the state, because Numba wants tuples
   of a length that it knows. Its docstring carries a fingerprint of the user's code: kernels are kept on
   disk under a name made from that, see `final/specialise.py`.

Cost: compiled, that of the user's expressions; interpreted, some microseconds an operation.
"""

from __future__ import annotations

import inspect
import warnings
from collections import namedtuple
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from types import CodeType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from windrow.aggregates.operations import Algebra, Operation
from windrow.aggregates.own import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from windrow.aggregates.own import OwnFunction

    Array = np.ndarray[Any, Any]

types: Any = numba.types
typeof: Any = numba.typeof
njit: Any = numba.njit

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


@dataclass(frozen=True)
class OwnOperation(Operation):
    """An operation of the user's; it goes to worker processes with the user's code."""

    function: Any = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return operation_of, (self.function,)

    def guarded(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        methods = "combine" if self.inverse is None else "combine or inverse"

        def call(*arguments: Any) -> Any:
            with self.function.calling(methods):
                return kernel(*arguments)

        return call


def operation_of(function: OwnFunction) -> Operation:
    """The operation of a function: one and the same for all its calls."""
    if function._operation is None:
        # Here: the two kinds of states do not know each other.
        from windrow.aggregates.own_objects import object_operation

        make = object_operation if function.is_object else number_operation
        function._operation = make(function)
    return function._operation


def algebra_of(function: OwnFunction) -> Algebra:
    """What the class claims."""
    inverse = function.own.inverse is not None
    return Algebra(
        commutative=function.own.commutative,
        invertible=inverse and function.exact,
        nearly_invertible=inverse and not function.exact,
        rounds=not function.exact,
    )


def number_operation(function: OwnFunction) -> Operation:
    """How records of numbers merge."""
    own = function.own
    methods = {"combine": own.combine} | ({"inverse": own.inverse} if own.inverse is not None else {})
    found = {name: _compiled(function, name, method) for name, method in methods.items()}
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
    )


def _like(function: OwnFunction) -> str:
    if function.own.inverse is None:
        return "moments"
    return "add_integers" if function.exact else "add_floats"


# compiled


def _compiled(function: OwnFunction, name: str, method: Any) -> tuple[Callable[..., None] | None, str]:
    """A method on records for Numba to compile; or None, and why that cannot be."""
    plain = method.__func__ if inspect.ismethod(method) else method
    if not inspect.isfunction(plain):
        return None, "it is no function of Python"
    taken = _numbers_of_self(function, plain) if inspect.ismethod(method) else None
    return _compiled_once(plain, taken, name, _shape(function))


@dataclass(frozen=True)
class Shape:
    """What states are, for the compiler."""

    kind: type
    width: int
    scalar: bool

    def __str__(self) -> str:
        kind = "integer" if self.kind is int else "number"
        return f"one {kind}" if self.scalar else f"a tuple of {self.width} {kind}s"


@cache
def _compiled_once(plain: Any, taken: Any, name: str, shape: Shape) -> tuple[Callable[..., None] | None, str]:
    """The same for a method by itself: engines that are given the same class do not compile it again."""
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


def _is_state(returned: Any, shape: Shape) -> bool:
    kinds = (types.Integer, types.Boolean) + ((types.Float,) if shape.kind is float else ())
    if shape.scalar:
        return isinstance(returned, kinds)
    if not isinstance(returned, types.BaseTuple) or len(returned) != shape.width:
        return False
    return all(isinstance(part, kinds) for part in returned)


def _kernel(shape: Shape, name: str, fingerprint: str, *, with_self: bool) -> str:
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


# interpreted


def _interpreted(function: OwnFunction, method: str) -> Callable[..., None]:
    """The same on records in plain Python, looking at what the method returns."""
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


def _shape(function: OwnFunction) -> Shape:
    return Shape(function.kind, len(function.names), function.is_scalar)


def merged_state(function: OwnFunction, method: str, call: Any, a: Any, b: Any) -> tuple[Any, ...]:
    """The numbers that `combine` or `inverse` gives for two states."""
    given = f"{shown(a)} and {shown(b)}"
    with function.calling(method, given):
        returned = call(a, b)
    numbers = function.numbers(method, returned)
    for number in numbers:
        fits = isinstance(number, int | np.integer | np.bool_)
        if not fits and not (function.kind is float and isinstance(number, float | np.floating)):
            raise function.failed(
                method, f"returned {shown(returned)}, given {given}, not {_shape(function)}"
            )
        if function.kind is int and not -(2**63) <= number < 2**63:
            raise function.failed(method, f"returned {number}, given {given}, which does not fit in 64 bits")
    return numbers
