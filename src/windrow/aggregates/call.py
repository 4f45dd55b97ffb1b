"""One aggregate call of a statement, and what a function takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from windrow.aggregates.base import Aggregate

    Make = Callable[["Call", tuple[pa.DataType, ...], pa.DataType], Aggregate]

EVERY_ROW = "*"
"""The argument of COUNT(*)."""


@dataclass(frozen=True)
class Call:
    """What a statement asks for; arguments and the condition of FILTER are Spark SQL.

    >>> str(Call("percentile", ("x",), (0.9,), where="y > 1"))
    'PERCENTILE(x, 0.9) FILTER (WHERE y > 1)'
    """

    function: str
    arguments: tuple[str, ...]
    constants: tuple[Any, ...] = ()
    distinct: bool = False
    ignore_nulls: bool = False
    where: str | None = None

    @property
    def argument(self) -> str:
        """The first argument of the rows that FILTER lets through, NULL of the others."""
        (first, *_) = self.arguments
        return self.filtered("1" if first == EVERY_ROW and self.where else first)

    def filtered(self, sql: str) -> str:
        """An expression of the rows that FILTER lets through, NULL of the others."""
        return sql if self.where is None else f"CASE WHEN {self.where} THEN {sql} END"

    def of(self, *arguments: str) -> Call:
        """This call with other arguments."""
        return replace(self, arguments=arguments)

    @property
    def sql(self) -> str:
        """The call as Spark SQL."""
        given = [*self.arguments, *(literal(value) for value in self.constants)]
        listed = ("DISTINCT " if self.distinct else "") + ", ".join(given)
        nulls = " IGNORE NULLS" if self.ignore_nulls else ""
        where = "" if self.where is None else f" FILTER (WHERE {self.where})"
        return f"{self.function}({listed}){where}{nulls}"

    def __str__(self) -> str:
        return self.sql.replace(self.function, self.function.upper(), 1).replace("`", "")


def literal(value: Any) -> str:
    """A constant as Spark SQL."""
    if isinstance(value, tuple):
        return f"array({', '.join(map(literal, value))})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"{value!r}D" if isinstance(value, float) and "e" in repr(value) else repr(value)


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
