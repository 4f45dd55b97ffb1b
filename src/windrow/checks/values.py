"""Values to try: simple ones first, then zero, negative, large, tiny, and the same ones again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

SIMPLE = (1, 2, 3, 0, -1, 5, -2, 10, 7)
ODD = (0.5, -0.25, 0.1, 1e-9, -1e-9, 1e6, -1e6, 123_456_789)


class Values:
    """Draws values, and knows which of them are simpler than others."""

    def __init__(
        self, given: Sequence[Any] | Callable[[Random], Any] | None, arguments: int, kind: type
    ) -> None:
        self._sampler = given if callable(given) else None
        self._given = None if given is None or callable(given) else list(given)
        self._arguments = arguments
        self._kind = kind
        self.known = given is not None

    def draw(self, random: Random, effort: float) -> Any:
        """A value; the more effort (0 to 1), the odder."""
        if self._sampler is not None:
            return self._sampler(random)
        if self._given is not None:
            reach = max(1, math.ceil(len(self._given) * min(1.0, effort + 0.25)))
            return random.choice(self._given[:reach])
        if self._arguments == 1:
            return self._number(random, effort)
        return tuple(self._number(random, effort) for _ in range(self._arguments))

    def simpler(self, value: Any) -> list[Any]:
        """What to put in its place, to see whether an example stays one."""
        if self._sampler is not None:
            return []
        if self._given is not None:
            places = [place for place, known in enumerate(self._given) if known is value]
            return self._given[: places[0]] if places else []
        if isinstance(value, tuple):
            return [
                (*value[:place], better, *value[place + 1 :])
                for place, part in enumerate(value)
                for better in self.simpler(part)
            ]
        better = [self._kind(number) for number in SIMPLE] + list(ODD[:3] if self._kind is float else ())
        return better[: better.index(value)] if value in better else better

    def _number(self, random: Random, effort: float) -> Any:
        if random.random() >= effort:
            return self._kind(random.choice(SIMPLE))
        if self._kind is int:
            return random.choice([random.randint(-20, 20), random.randint(-1_000_000, 1_000_000)])
        return random.choice([random.choice(ODD) * 1.0, random.uniform(-10, 10), random.gauss(0, 1e3)])
