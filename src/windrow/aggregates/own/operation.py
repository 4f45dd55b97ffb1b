"""The operation of a user's own function, whatever its states are: its algebra, and its way to workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from windrow.aggregates.operations import Algebra, Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.aggregates.own.function import OwnFunction


@dataclass(frozen=True)
class OwnOperation(Operation):
    """An operation of the user's; it goes to worker processes as the user's code, and is made again there."""

    function: Any = field(default=None, compare=False, repr=False)
    make: Any = field(default=None, compare=False, repr=False)
    """What makes it of the function: there is one for each kind of states."""

    def __reduce__(self) -> tuple[Any, ...]:
        return made_once, (self.make, self.function)

    def guarded(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        methods = "combine" if self.inverse is None else "combine or inverse"

        def call(*arguments: Any) -> Any:
            with self.function.calling(methods):
                return kernel(*arguments)

        return call


def made_once(make: Callable[[OwnFunction], Operation], function: OwnFunction) -> Operation:
    """The operation of a function: one and the same for all its calls."""
    if function._operation is None:
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
