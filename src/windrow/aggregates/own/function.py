"""Aggregates that users write: a small class says how values are lifted, combined and lowered.

    class HarmonicMean(windrow.OwnAggregate):
        state = ("count", "inverses")

        def lift(self, x):
            return 1, 1 / x

        def combine(self, a, b):
            return a[0] + b[0], a[1] + b[1]

        def lower(self, s):
            return s[0] / s[1]

    eng.aggregate("harmonic_mean", HarmonicMean)

Rows without a value never get here, so there is no identity to write: a state is that of at least one
row. `windrow.checks` tells whether a class keeps the laws that windows rely on.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.errors import QueryFailed, WindrowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

NUMBERS: dict[type, type[np.generic]] = {float: np.float64, int: np.int64}
LONGEST = 80
"""Characters of a value in a message."""


class OwnAggregate:
    """An aggregate function of your own. Subclass it, and register it with `eng.aggregate(name, cls)`.

    A state of numbers is a record of fixed width, and `combine` is compiled where Numba can: write it on
    tuples of numbers, with `self` for nothing but numbers. `lift` and `lower` take and give arrays, a row
    or a window an element. With `state = object`, every method is about one value or one state, whatever
    Python object that is, and none may change the states that it is given.
    """

    state: ClassVar[Any]
    """Names of numbers, such as ("count", "inverses"), and then states are tuples; `float` or `int` for a
    state that is one number; `object` for anything else."""
    kind: ClassVar[type] = float
    """What the named numbers are: float (64 bits) or int (64 bits; a sum that does not fit wraps)."""
    result: ClassVar[str] = "DOUBLE"
    """The type of the answer, as Spark SQL writes it."""
    commutative: ClassVar[bool] = True
    """Whether combine(a, b) is combine(b, a). If not, states are combined in stream order."""
    exact: ClassVar[bool | None] = None
    """Whether nothing is ever rounded, so that `inverse` undoes `combine` to the last bit. None: if the
    state is of integers."""

    lift: Callable[..., Any]
    """lift(self, x): the states of rows from their values; lift(self, x, y) makes a function of two."""
    combine: Callable[..., Any]
    """combine(self, a, b): the state of the rows of `a`, which come first, and those of `b`."""
    inverse: Callable[..., Any] | None = None
    """inverse(self, a, b): the state of the rows of `a` that come behind those of `b`; may be left out."""
    lower: Callable[..., Any]
    """lower(self, s): the answers from states. None is NULL; NaN is NaN."""
    state_types: ClassVar[tuple[type, ...]] = ()
    """Types of yours that states are made of, where `pack` does not write them: a pickle in a home is
    trusted to make these and plain values (containers, dates, decimals, NumPy arrays), and nothing else."""
    pack: Callable[..., bytes] | None = None
    """pack(self, s): an object as bytes, to be kept on disk. It is pickled if there is no such method."""
    unpack: Callable[..., Any] | None = None
    """unpack(self, packed): the object again."""


class OwnFunction:
    """A class of the user's under its name in SQL, found to be complete."""

    def __init__(self, name: str, own: OwnAggregate) -> None:
        self.name = name
        self.own = own
        self.arguments = _arguments(own)
        self._operation: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return OwnFunction, (self.name, self.own)

    @property
    def is_object(self) -> bool:
        """Whether states are Python objects."""
        return self.own.state is object

    @property
    def is_scalar(self) -> bool:
        """Whether a state is one number and not a tuple of them."""
        return self.own.state in (float, int)

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers of a state."""
        return ("state",) if self.is_scalar or self.is_object else tuple(self.own.state)

    @property
    def kind(self) -> type:
        """What they are."""
        return self.own.state if self.is_scalar else self.own.kind

    @property
    def dtype(self) -> type[np.generic]:
        """What they are in memory."""
        return NUMBERS[self.kind]

    @property
    def exact(self) -> bool:
        """Whether nothing is ever rounded."""
        if self.own.exact is not None:
            return self.own.exact
        return not self.is_object and self.kind is int

    @property
    def state_types(self) -> tuple[type, ...]:
        """The types of the user's that states may be made of."""
        return (type(self.own), *self.own.state_types)

    def state(self, numbers: Any) -> Any:
        """Numbers (or arrays of them) as the user's methods take them."""
        return numbers[0] if self.is_scalar else tuple(numbers)

    def numbers(self, method: str, returned: Any) -> tuple[Any, ...]:
        """What a method gave, one for each number of a state."""
        if self.is_scalar:
            return (returned,)
        width = len(self.names)
        if not isinstance(returned, tuple | list) or len(returned) != width:
            wanted = f"a tuple of {width}: {', '.join(self.names)}"
            raise self.failed(method, f"returned {shown(returned)}, not {wanted}")
        return tuple(returned)

    def failed(self, method: str, what: str) -> QueryFailed:
        """A failure of one of the user's methods."""
        return QueryFailed(f"{self.name.upper()}: {method} {what}")

    @contextmanager
    def calling(self, method: str, *given: Any) -> Iterator[None]:
        """Around a call of a method: what it raises becomes a failure that names it, and what it was given.

        Numbers follow IEEE 754, compiled or not: 1 / 0 is an infinity.
        """
        try:
            with np.errstate(all="ignore"):
                yield
        except (QueryFailed, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            told = f", given {shown_all(given)}" if given else ""
            raise self.failed(method, f"raised {raised(error)}{told}") from error


def raised(error: BaseException) -> str:
    """An exception, for people."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def shown(value: Any) -> str:
    """A value, for people.

    >>> shown((np.float64(0.5), np.int64(2)))
    '(0.5, 2)'
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        inside = ", ".join(map(shown, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def shown_all(values: Iterable[Any]) -> str:
    """What a method was given, for people."""
    return " and ".join(map(shown, values))


def own_function(name: str, own: Any) -> OwnFunction:
    """A class, or an instance of one, as a function of this name; a WindrowError says what is wrong with it.

    >>> class Nothing(OwnAggregate):
    ...     state = ()
    >>> own_function("nothing", Nothing)
    Traceback (most recent call last):
    windrow.errors.WindrowError: nothing: class Nothing has no lift, no combine, no lower
    """
    if isinstance(own, type):
        if not issubclass(own, OwnAggregate):
            raise WindrowError(f"{name}: an aggregate is a class of windrow.OwnAggregate, not {own.__name__}")
        missing = [f"no {method}" for method in METHODS if not callable(getattr(own, method, None))]
        if missing:
            raise WindrowError(f"{name}: class {own.__name__} has {', '.join(missing)}")
        try:
            own = own()
        except Exception as error:
            raise WindrowError(
                f"{name}: {own.__name__}() raised {raised(error)}; if it needs arguments, give an instance"
            ) from error
    if not isinstance(own, OwnAggregate):
        raise WindrowError(f"{name}: an aggregate is a class of windrow.OwnAggregate, not {shown(own)}")
    _check(name, own)
    return OwnFunction(name, own)


METHODS = ("lift", "combine", "lower")


def _check(name: str, own: OwnAggregate) -> None:
    cls = type(own).__name__
    missing = [f"no {method}" for method in METHODS if not callable(getattr(own, method, None))]
    if missing:
        raise WindrowError(f"{name}: class {cls} has {', '.join(missing)}")
    state = getattr(own, "state", None)
    if state not in (float, int, object):
        fits = isinstance(state, tuple | list) and all(isinstance(part, str) for part in state)
        if not fits or not state:
            raise WindrowError(
                f'{name}: the state of {cls} is names of numbers, such as ("count", "total"), or float, int '
                f"or object, not {shown(state)}"
            )
        if len(set(state)) < len(state):
            raise WindrowError(f"{name}: the state of {cls} has a name twice: {shown(tuple(state))}")
        if own.kind not in NUMBERS:
            raise WindrowError(f"{name}: the kind of {cls} is float or int, not {shown(own.kind)}")
    result: Any = own.result
    if not isinstance(result, str) or not result.strip():
        raise WindrowError(
            f'{name}: the result of {cls} is a Spark SQL type, such as "DOUBLE", not {result!r}'
        )
    for optional in ("inverse", "pack", "unpack"):
        if getattr(own, optional) is not None and not callable(getattr(own, optional)):
            raise WindrowError(f"{name}: {optional} of {cls} is a method, or left out")
    if (own.pack is None) != (own.unpack is None):
        raise WindrowError(f"{name}: {cls} needs both pack and unpack, or neither")
    if own.pack is not None and state is not object:
        raise WindrowError(f"{name}: pack is for states that are objects; numbers are kept as they are")
    types: Any = own.state_types
    if not isinstance(types, tuple | list) or not all(isinstance(known, type) for known in types):
        raise WindrowError(f"{name}: state_types of {cls} are types, such as (Point,), not {shown(types)}")
    for method, count in (("combine", 2), ("inverse", 2), ("lower", 1)):
        function = getattr(own, method)
        if function is not None and not _takes(function, count):
            raise WindrowError(f"{name}: {method} of {cls} takes self and {count} state{'s'[: count != 1]}")
    if _arguments(own) < 1:
        raise WindrowError(f"{name}: lift of {cls} takes self and the value of each argument by its place")


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    return True


def _arguments(own: OwnAggregate) -> int:
    """How many arguments the function has in SQL: those of `lift` that have no default."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(own.lift).parameters.values()
    if any(p.kind == p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return 0
    return sum(p.kind in kinds and p.default is p.empty for p in parameters)
