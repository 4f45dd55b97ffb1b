"""Which queries make a shared pass fail: halves of them are tried until the culprits are alone.

Cost: for each culprit about two runs for each doubling of the queries, over ever fewer of them.

Where all queries fail, and none of them by an error that is clearly its own, none is a culprit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import MachineFailed, QueryFailed
from windrow.runtime.spark.blame import Unclear
from windrow.runtime.spark.patience import NOTHING_LOST

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


def check_that_some_run(failed: Mapping[str, Exception], well: int) -> None:
    """Blame nobody, and raise that, if several queries fail for reasons that are unclear and none runs well.

    >>> check_that_some_run({"a": Unclear("no memory"), "b": Unclear("no memory")}, well=1)
    >>> check_that_some_run({"a": Unclear("no memory"), "b": Unclear("no memory")}, well=0)
    Traceback (most recent call last):
    windrow.errors.MachineFailed: all queries fail (a, b), each alone: no memory. No query is to blame, \
and nothing is lost: the next start goes on from the last commit
    """
    unclear = {name: error for name, error in failed.items() if isinstance(error, Unclear)}
    if well or len(unclear) < 2:
        return
    names = list(unclear)
    few = f"{', '.join(names[:5])}{', …'[: 3 * (len(names) > 5)]}"
    problem = str(unclear[names[0]])
    told = f"all queries fail ({few}), each alone: {problem.rstrip('.')}. {NOTHING_LOST}"
    raise MachineFailed(problem, told, lasting=True)
