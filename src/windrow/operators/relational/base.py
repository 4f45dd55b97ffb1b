"""What every operator of a query's tree has: changes in on some edges, changes out on one.

All of a tree advance together, from the leaves up: each is given what its inputs have up to an instant, and
gives what it has up to there itself. So an operator never sees half an instant, and no cut of a stream into
batches shows in what it gives.

At rest an operator is what it has logged: `log` gives, after every advance, what that added or changed, in
tables by name, each row with the instant (column `_slice`) until which it is needed: a row that lives until
`live` is needed by whoever goes on from `live` or before. `restore` is given all that was logged and is still
needed, in the order in which it was; of what a later row replaces, it takes the later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from windrow.operators.relational.changes import Changes

Evaluator = Callable[[pa.Table, Sequence[str]], list[pa.Array]]
"""Computes expressions, Spark SQL over the columns of a table, for each of its rows in their order."""

MOST_PAIRS = 1_000_000
"""Rows that one row of a join may meet: more are taken for a mistake in its condition."""


@dataclass(frozen=True)
class Around:
    """What operators of a tree are given by whoever runs them."""

    evaluate: Evaluator
    most_pairs: int = MOST_PAIRS
    """So many rows may a row of a join meet, as it comes."""


class RelationalOperator(Protocol):
    """A node of a query's tree, as it runs."""

    @property
    def entries(self) -> int:
        """How many rows and results it holds."""

    @property
    def bytes(self) -> int:
        """About how much memory they take."""

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """What there is before an instant, from what the inputs have before it.

        Instants in their order; of one instant, what expires goes before what comes, and only what the
        instant has changed in all is given. `until` is END_OF_TIME once no row comes any more.
        """

    def next_change(self) -> int:
        """When it changes by itself, without any row: the least instant at which something expires that has
        to be told; END_OF_TIME if nothing does."""

    def log(self) -> Mapping[str, pa.Table]:
        """At rest: what has been added and changed since the last call, by the names of tables; tables of no
        rows may be left out."""

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Go on from what was logged, from an instant on; what nobody needs then may be in it or not."""
