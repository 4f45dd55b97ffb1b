"""One aggregate call of a statement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

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
