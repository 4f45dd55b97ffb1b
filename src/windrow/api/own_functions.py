"""The aggregate functions that an engine knows: those of Windrow, and those that its user registers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from windrow.aggregates import AGGREGATES, FUNCTIONS, OwnAggregate, own_function
from windrow.aggregates.call import literal
from windrow.aggregates.own.call import function_for_queries
from windrow.errors import StatementError, WindrowError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.aggregates import Function, OwnFunction
    from windrow.logical.bind.questions import Analyst


class OwnFunctions:
    """Functions by name, in lower case."""

    def __init__(self, analyst: Analyst) -> None:
        self.known: dict[str, Function] = dict(FUNCTIONS)
        self._own: dict[str, OwnFunction] = {}
        self._analyst = analyst

    def add(self, name: Any, own: Any) -> None:
        """Register a class, or an instance, under a name that is free."""
        if not isinstance(name, str) or not name.isidentifier():
            raise WindrowError(
                f"an aggregate is registered under a name, such as 'harmonic_mean', not {name!r}"
            )
        spelled, name = name, name.lower()
        if name in AGGREGATES:
            raise WindrowError(f"'{spelled}' is an aggregate of Windrow's; use another name")
        if name in self._own:
            before = self._own[name].own
            if before is own or (isinstance(own, type) and type(before) is own):
                return
            raise WindrowError(f"there is an aggregate '{spelled}' already: {type(before).__name__}")
        if name in self._analyst.functions() or not _is_free(name):
            raise WindrowError(f"'{spelled}' is a function of Spark SQL; use another name")
        function = own_function(name, own)
        try:
            self._analyst.describe(f"SELECT CAST(NULL AS {function.own.result}) AS result", {})
        except StatementError as error:
            cls = type(function.own).__name__
            raise WindrowError(
                f"{spelled}: the result of {cls}, {function.own.result!r}, is no type of Spark SQL; "
                'such as "DOUBLE" or "ARRAY<STRING>"'
            ) from error
        self._own[name] = function
        self.known[name] = function_for_queries(function)


def _is_free(name: str) -> bool:
    """Whether the grammar takes a call of it for that of an unknown function."""
    try:
        call = parse_one(f"{name}(x)", dialect="spark")
    except SqlglotError:
        return False
    return isinstance(call, exp.Anonymous)


def is_function(function: Any) -> bool:
    """Whether `sliding()` may be given this as a function: a name, or one of the user's own."""
    own = isinstance(function, type) and issubclass(function, OwnAggregate)
    return is_text(function) or own or isinstance(function, OwnAggregate)


def is_text(part: Any) -> bool:
    """Whether it is the name of a function or a column, or an expression."""
    return isinstance(part, str)


def as_arguments(arguments: Any) -> tuple[Any, ...]:
    """One argument, or several."""
    return tuple(arguments) if isinstance(arguments, tuple | list) else (arguments,)


def _written(argument: Any) -> str:
    """Text is a column or an expression; anything else a constant."""
    return argument if isinstance(argument, str) else literal(argument)


def named_calls(
    aggs: Mapping[str, Any],
) -> tuple[dict[str, tuple[str, tuple[str, ...]]], dict[str, OwnAggregate]]:
    """The functions by name with their arguments, and the user's own under names of ours."""
    calls: dict[str, tuple[str, tuple[str, ...]]] = {}
    own: dict[str, OwnAggregate] = {}
    for column, (function, first, *more) in aggs.items():
        name = function
        if not isinstance(function, str):
            cls = function if isinstance(function, type) else type(function)
            name = f"own_{re.sub('(?<=[a-z0-9])(?=[A-Z])', '_', cls.__name__).lower()}"
            while name in own and own[name] is not function and type(own[name]) is not function:
                name = f"{name}_{len(own)}"
            if name not in own:
                own[name] = own_function(cls.__name__, function).own
        calls[column] = (name, tuple(map(_written, (*as_arguments(first), *more))))
    return calls, own
