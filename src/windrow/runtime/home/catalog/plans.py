"""The plan that runs, in the catalog: inputs, operators, and the queries in each of them."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING

from windrow.runtime.home.catalog.database import Database
from windrow.runtime.home.records import StoredInput, StoredMember, StoredOperator

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from windrow.runtime.home.records import OperatorSize, PlanChange


class PlanTables(Database):
    """The tables `inputs`, `operators`, `ports` and `members`."""

    def last_operator(self) -> int:
        """The largest number that an operator ever had."""
        found = self.rows("SELECT seq FROM sqlite_sequence WHERE name = 'operators'")
        return max((number for (number,) in found), default=0)

    def operator_ids(self) -> set[int]:
        """The numbers of the operators, which are those that still have a state."""
        return {number for (number,) in self.rows("SELECT id FROM operators")}

    def inputs(self) -> list[StoredInput]:
        """The streams that the plan reads."""
        return [StoredInput(stream, json.loads(plan)) for stream, plan in self.rows("SELECT * FROM inputs")]

    def operators(self) -> list[StoredOperator]:
        """The operators of the plan that have queries."""
        ports: dict[int, list[tuple[str, str]]] = {}
        for operator, stream, pattern in self.rows(
            "SELECT operator, stream, pattern FROM ports ORDER BY operator, port"
        ):
            ports.setdefault(operator, []).append((stream, pattern))
        rows = self.rows(
            "SELECT o.id, o.shared, o.node, o.price, m.query, m.joined, m.after, m.until FROM operators o "
            "JOIN members m ON m.operator = o.id ORDER BY o.id, m.query"
        )
        return [
            StoredOperator(
                number, ports.get(number, []), bool(shared), node, json.loads(price),
                [StoredMember(*row[4:]) for row in of_operator],
            )
            for (number, shared, node, price), of_operator in groupby(rows, lambda row: row[:4])
        ]  # fmt: skip

    def planned_queries(self) -> set[int]:
        """The numbers of the queries that are in an operator."""
        return {query for (query,) in self.rows("SELECT DISTINCT query FROM members")}

    def evaluated(self) -> dict[int, int]:
        """Up to where operators have been answered, by their numbers; not of those that no epoch has had."""
        return dict(self.rows("SELECT id, evaluated FROM operators WHERE evaluated IS NOT NULL"))

    def answered_until(self, query: int) -> int | None:
        """Up to where a query has been answered by the operators that have it; None if no epoch has had any
        of them."""
        ((found,),) = self.rows(
            "SELECT min(evaluated) FROM operators JOIN members ON operator = id WHERE query = ?", query
        )
        return None if found is None else int(found)

    def groups_known(self) -> dict[int, int]:
        """How many groups the states of operators know, by their numbers."""
        return dict(self.rows("SELECT id, groups FROM operators"))

    @staticmethod
    def write_plan(database: sqlite3.Connection, change: PlanChange) -> None:
        """Remember how the plan has changed, as part of a transaction."""
        changed = [operator.id for operator in change.operators]
        for table, column in (("members", "operator"), ("ports", "operator")):
            database.executemany(
                f"DELETE FROM {table} WHERE {column} = ?", [(number,) for number in (*changed, *change.gone)]
            )
        database.executemany("DELETE FROM operators WHERE id = ?", [(number,) for number in change.gone])
        database.executemany(
            "INSERT INTO operators (id, shared, node, price) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE "
            "SET shared = excluded.shared, node = excluded.node, price = excluded.price",
            [(o.id, o.shared, o.node, json.dumps(list(o.price))) for o in change.operators],
        )
        database.executemany(
            "INSERT INTO ports VALUES (?, ?, ?, ?)",
            [
                (operator.id, place, stream, pattern)
                for operator in change.operators
                for place, (stream, pattern) in enumerate(operator.ports)
            ],
        )
        database.executemany(
            "INSERT INTO members VALUES (?, ?, ?, ?, ?)",
            [(o.id, m.query, m.joined, m.after, m.until) for o in change.operators for m in o.members],
        )
        database.executemany(
            "INSERT OR REPLACE INTO inputs VALUES (?, ?)",
            [(read.stream, json.dumps(read.plan)) for read in change.inputs],
        )

    @staticmethod
    def set_operator_sizes(database: sqlite3.Connection, sizes: Iterable[OperatorSize]) -> None:
        """Remember how far operators are and how much they hold, as part of a transaction."""
        database.executemany(
            "UPDATE operators SET evaluated = ?, entries = ?, bytes = ?, groups = ? WHERE id = ?",
            [(size.evaluated, size.entries, size.bytes, size.groups, size.operator) for size in sizes],
        )

    @staticmethod
    def forget_idle_operators(database: sqlite3.Connection) -> None:
        """Forget operators all of whose queries have been dropped, as part of a transaction: epochs of their
        streams, which would forget them too, may never come."""
        live = "SELECT m.operator FROM members m JOIN queries q ON q.id = m.query WHERE NOT q.dropped"
        database.execute(f"DELETE FROM operators WHERE id NOT IN ({live})")
        for table in ("members", "ports"):
            database.execute(f"DELETE FROM {table} WHERE operator NOT IN (SELECT id FROM operators)")
