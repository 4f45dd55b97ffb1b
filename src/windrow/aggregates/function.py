"""An aggregate function: what a call of it takes, and what implements the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from windrow.aggregates.base import Aggregate
    from windrow.aggregates.call import Call

    Make = Callable[[Call, tuple[pa.DataType, ...], pa.DataType], Aggregate]


@dataclass(frozen=True)
class Constant:
    """A parameter of a function that has to be written out, such as the k of TOP_K."""

    name: str
    what: str
    """What it must be, for people, such as "a whole number greater than zero"."""
    fits: Callable[[Any], bool]
    default: Any = None
    """None: it has to be given."""


@dataclass(frozen=True)
class Function:
    """An aggregate function: what it takes, and what implements it."""

    plain: Make
    """The aggregate for a call, the types of its arguments and that of its answer."""
    arguments: int = 1
    constants: tuple[Constant, ...] = ()
    distinct: Make | None = None
    """The aggregate for a call with DISTINCT, where that has a meaning."""
    nulls: bool = False
    """Whether it counts NULLs, and so can be asked to IGNORE them."""
    answer: Callable[[Call], str] | None = None
    """Spark SQL of the answer's type, where Spark does not know the function; else the call is."""

    def make(
        self, call: Call, argument_types: tuple[pa.DataType, ...], result_type: pa.DataType
    ) -> Aggregate:
        """The aggregate for a call; types are those that Spark gives the arguments and the result."""
        make = self.distinct if call.distinct and self.distinct is not None else self.plain
        return make(call, argument_types, result_type)

    def answer_sql(self, call: Call) -> str:
        """Spark SQL that has the type of the answer."""
        return call.sql if self.answer is None else self.answer(call)


def whole(least: int) -> Callable[[Any], bool]:
    """A whole number of at least so much.

    >>> fits = whole(1)
    >>> fits(3), fits(0), fits(True), fits(1.0)
    (True, False, False, False)
    """
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def described(constants: Sequence[Constant]) -> str:
    """The constants of a function, for people."""
    return " and ".join(f"{constant.name}, {constant.what}" for constant in constants)
