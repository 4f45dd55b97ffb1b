"""Who is to blame: which queries make a pass over a batch fail, or an operator in an epoch.

Whose fault an *error* is says `spark/blame.py`. Here it is found out whose query it comes from:

- Of a pass, halves of its queries are tried until the culprits are alone (`culprits`).
- Of an operator, its queries are answered one by one, and who fails twice is a culprit (`Suspects`).

Where all queries fail, and none of them by an error that is clearly its own, none is a culprit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from windrow.errors import MachineFailed, QueryFailed
from windrow.runtime.spark.blame import Unclear
from windrow.runtime.spark.patience import NOTHING_LOST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    Query = TypeVar("Query")


def culprits(queries: Sequence[Query], run: Callable[[Sequence[Query]], object]) -> dict[Query, QueryFailed]:
    """Those queries that fail alone, with their errors; `run` raises QueryFailed if any query fails.

    Cost: for each culprit about two runs for each doubling of the queries, over ever fewer of them.

    >>> def run(queries):
    ...     if "b" in queries:
    ...         raise QueryFailed("b is not good")
    >>> culprits("abcdefg", run)
    {'b': QueryFailed('b is not good')}
    """
    try:
        run(queries)
    except QueryFailed as error:
        if len(queries) == 1:
            return {queries[0]: error}
        half = len(queries) // 2
        return culprits(queries[:half], run) | culprits(queries[half:], run)
    return {}


class Suspects:
    """The queries that are suspected to make an epoch fail, over its attempts."""

    def __init__(self, failed: Mapping[int, Exception]) -> None:
        """`failed`: queries that are known to, and why, by their numbers."""
        self.failed: dict[int, Exception] = dict(failed)
        """Queries that the epoch does without, to be quarantined, by their numbers."""
        self.apart: frozenset[int] = frozenset()
        """Queries that are answered one by one, to find out which of them it is."""
        self._once: set[int] = set()

    def accuse(self, queries: AbstractSet[int], fault: QueryFailed) -> bool:
        """An operator has failed because of one of some queries: let them be answered one by one, or again,
        or do without them.

        Whether the epoch does without some whose error does not say whose fault it is.
        """
        if queries <= self._once:
            self.failed |= dict.fromkeys(queries, fault)
            return isinstance(fault, Unclear)
        if len(queries) > 1 and not queries <= self.apart:
            self.apart |= queries
        else:
            self._once |= queries
        return False


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
