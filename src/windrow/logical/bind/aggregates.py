"""From the aggregate calls of a SELECT to aggregates: what Spark says of arguments and answers decides
which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from windrow.aggregates import share_moments
from windrow.aggregates.call import EVERY_ROW
from windrow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from sqlglot import exp

    from windrow.aggregates import Aggregate, Call, Function
    from windrow.logical.bind.questions import AskedSql
    from windrow.logical.bind.scope import Scope

    Calls = Mapping[Call, exp.Expr]


class Ask(Protocol):
    """Asks Spark for the types of expressions over the rows of a SELECT."""

    def __call__(self, asked: Sequence[AskedSql]) -> list[pa.DataType]: ...


def arguments_of(calls: Calls) -> list[AskedSql]:
    """The arguments of all calls, one behind the other, as Spark is asked for their types."""
    return [
        ("1" if argument == EVERY_ROW else argument, node)
        for call, node in calls.items()
        for argument in call.arguments
    ]


def made(
    calls: Calls,
    argument_types: Sequence[pa.DataType],
    functions: Mapping[str, Function],
    scope: Scope,
    ask: Ask,
) -> list[Aggregate]:
    """An aggregate for each call, given the types of what `arguments_of` lists."""
    answers = [(functions[call.function].answer_sql(call), node) for call, node in calls.items()]
    # Where Spark does not know the function, what it is asked for the answer may be without FILTER.
    filters = [
        (f"count(*) FILTER (WHERE {call.where})", node)
        for call, node in calls.items()
        if call.where is not None and functions[call.function].answer is not None
    ]
    answer_types = ask([*answers, *filters])
    left = iter(argument_types)
    aggregates = []
    for (call, node), answer in zip(calls.items(), answer_types, strict=False):
        given = tuple(next(left) for _ in call.arguments)
        try:
            aggregates.append(functions[call.function].make(call, given, answer))
        except PlanError as error:
            raise scope.problem(str(error), node) from error
    return list(share_moments(aggregates))
