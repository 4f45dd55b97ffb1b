"""Which queries make a shared pass fail: halves of them are tried until the culprits are alone.

Cost: for each culprit about two runs for each doubling of the queries, over ever fewer of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import QueryFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from windrow.logical import AggregateQuery

    Queries = Mapping[str, AggregateQuery]


def culprits(queries: Queries, run: Callable[[Queries], object]) -> dict[str, QueryFailed]:
    """Those that fail alone, with their errors; `run` raises QueryFailed if any query fails.

    >>> def run(queries):
    ...     if "b" in queries:
    ...         raise QueryFailed("b is not good")
    >>> culprits(dict.fromkeys("abcdefg"), run)
    {'b': QueryFailed('b is not good')}
    """
    try:
        run(queries)
    except QueryFailed as error:
        names = list(queries)
        if len(names) == 1:
            return {names[0]: error}
        half = len(names) // 2
        first, second = ({name: queries[name] for name in some} for some in (names[:half], names[half:]))
        return culprits(first, run) | culprits(second, run)
    return {}
