"""A parsed SELECT to a bound plan: every name looked up, every type known, everything odd refused.

1. Refuse what a continuous query cannot have.
2. FROM: one stream, then unchanging tables; columns are resolved against them.
3. WHERE and GROUP BY become Spark SQL; aggregates are lifted out of SELECT and HAVING. Without a window there
   are none, and the SELECT list is Spark SQL over the rows.
4. Spark types the keys, arguments and answers, and so checks them as it would check any query.

What slices cannot answer, such as a join of streams, becomes a tree of operators instead (`relational/`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow.types as pat
from sqlglot import exp

from windrow.aggregates import FUNCTIONS, Aggregate
from windrow.aggregates.contents import contents_of
from windrow.columns import aggregate_name, key_name
from windrow.cql import RowWindowNode
from windrow.errors import PlanError
from windrow.final import named, refuse_mismatch
from windrow.logical.aggregate import AggregateQuery, window_columns
from windrow.logical.bind.aggregates import arguments_of, made
from windrow.logical.bind.calls import spark_sql
from windrow.logical.bind.from_clause import FromClause
from windrow.logical.bind.kinds import is_relational
from windrow.logical.bind.lift import Lift
from windrow.logical.bind.questions import ANSWERS, types, view_name
from windrow.logical.bind.refuse import refuse
from windrow.logical.bind.relational.query import bind_relational
from windrow.logical.bind.scope import Scope
from windrow.logical.bind.select_list import SelectList, unaliased
from windrow.logical.query import Output, Scan
from windrow.logical.relation import Stream
from windrow.logical.select import SelectQuery

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pyarrow as pa

    from windrow.aggregates import Function
    from windrow.cql import Query
    from windrow.logical.bind.questions import Analyst, AskedSql
    from windrow.logical.query import BoundQuery
    from windrow.logical.relation import Relation


def bind(
    query: Query,
    relations: Mapping[str, Relation],
    spark: Analyst,
    functions: Mapping[str, Function] = FUNCTIONS,
    had: Sequence[str] = (),
    queries: Collection[str] = (),
) -> BoundQuery:
    """The plan of a query over known relations, with these aggregate functions.

    `had`: the result columns of a query that was bound before. A star in it does not grow. `queries`: the
    names that queries have, which are no relations.
    """
    if is_relational(query, relations, functions):
        return bind_relational(query, relations, spark, functions, had, queries)
    assert isinstance(query.select, exp.Select)
    return _Binder(query, query.select, relations, spark, functions, had, queries).bind()


class _Binder:
    def __init__(
        self,
        query: Query,
        select: exp.Select,
        relations: Mapping[str, Relation],
        spark: Analyst,
        functions: Mapping[str, Function],
        had: Sequence[str],
        queries: Collection[str],
    ) -> None:
        self.queries = queries
        self.query = query
        self.had = had
        self.select = select
        self.relations = relations
        self.spark = spark
        self.functions = functions
        self.scope = Scope(query.text, {})
        self.list = SelectList(select, self.scope, functions)
        self.keys: list[str] = []
        self.window_columns: dict[str, pa.DataType] = {}
        self.lift = Lift(self.scope, self.keys, self.window_columns, functions)
        self.partition: RowWindowNode | None = None

    def bind(self) -> BoundQuery:
        refuse(self.query, self.select)
        found = FromClause(self.select, self.scope, self.relations, self.queries, grouped=self.list.groups())
        stream, window, self.partition = found.stream, found.window, found.partition
        self.list.check_functions(self.spark.functions)
        enrichments = found.enrichments()
        where = self._bind_where()
        source, joined = found.source, found.asked(enrichments)
        if window is None:
            outputs = self._rows(source, joined, where)
            return SelectQuery(
                scan=self._scan(stream), enrichments=enrichments, where=where, outputs=tuple(outputs)
            )
        self.window_columns |= window_columns(window, stream)
        self.keys += self._bind_keys()
        self._check_partition()
        lifted = [(item, self.lift(unaliased(item))) for item in self.select.selects]
        having_node = self.list.having()
        having = spark_sql(self.lift(having_node)) if having_node else None
        key_types, aggregates = self._types(source, joined, where)
        outputs = self._outputs(lifted, having, key_types, aggregates)
        return AggregateQuery(
            scan=self._scan(stream),
            enrichments=enrichments,
            where=where,
            window=window,
            keys=tuple(self.keys),
            key_types=tuple(key_types),
            aggregates=tuple(aggregates),
            outputs=tuple(outputs),
            having=having,
            algorithm=self._hint(aggregates),
        )

    def _scan(self, stream: Stream) -> Scan:
        """The columns of the stream that have been resolved by now."""
        columns = {stream.timestamp} | self.scope.used.get(stream.name, set())
        return Scan(stream, tuple(name for name in stream.columns if name in columns))

    # expressions

    def _check_partition(self) -> None:
        """PARTITION BY says whose rows are counted, GROUP BY whose are aggregated: they must agree."""
        if self.partition is None or not self.partition.keys:
            return
        for node in self.partition.keys:
            if any(self.list.is_aggregate(inner) for inner in node.walk()):
                raise self.scope.problem("an aggregate cannot stand in PARTITION BY", node)
        partition = {spark_sql(self.scope.resolve(node)) for node in self.partition.keys}
        if partition != set(self.keys):
            written = ", ".join(spark_sql(node) for node in self.partition.keys)
            group = self.select.args.get("group")
            raise self.scope.problem(
                "a window with PARTITION BY answers for its own keys: GROUP BY must name the same",
                group if group is not None else self.partition,
                f"write GROUP BY {written}",
            )

    def _bind_where(self) -> str | None:
        self.list.refuse_aggregates_in_where()
        where = self.select.args.get("where")
        return None if where is None else spark_sql(self.scope.resolve(where.this))

    def _bind_keys(self) -> list[str]:
        keys = (spark_sql(self.scope.resolve(expression)) for expression, _ in self.list.group_keys())
        return list(dict.fromkeys(keys))

    def _types(
        self, source: str, joins: Sequence[AskedSql], where: str | None
    ) -> tuple[list[pa.DataType], list[Aggregate]]:
        """What Spark says of the keys, the arguments and the aggregates, in two questions."""
        group = self.select.args.get("group")
        key_nodes = group.expressions if group else []
        calls = self.lift.calls
        asked = [*zip(self.keys, key_nodes, strict=False), *arguments_of(calls)]
        if not asked:
            raise self.scope.problem("the query neither groups nor aggregates", self.select.selects[0])
        conditions = [(where, self.select.args["where"])] if where else []
        relations = {relation.name: relation.columns for relation in self.scope.relations.values()}
        found = types(self.spark, self.query, asked, source, relations, joins, conditions)
        key_types, argument_types = found[: len(self.keys)], found[len(self.keys) :]
        for key, of_type, node in zip(self.keys, key_types, key_nodes, strict=False):
            if pat.is_nested(of_type):
                raise self.scope.problem(
                    f"GROUP BY {key}: values of type {of_type} cannot be grouped yet", node
                )
        ask = partial(types, self.spark, self.query, source=source, relations=relations, joins=joins)
        aggregates = made(calls, argument_types, self.functions, self.scope, ask)
        if self.partition is not None and self.partition.keys:
            for (call, node), aggregate in zip(calls.items(), aggregates, strict=True):
                if contents_of(aggregate) is not None:
                    raise self.scope.problem(
                        f"{call.function.upper()} is not supported yet with PARTITION BY … ROWS",
                        node,
                        "use a RANGE, or ROWS alone",
                    )
        return key_types, aggregates

    def _hint(self, aggregates: Sequence[Aggregate]) -> str | None:
        hint = self.select.args.get("hint")
        for node in hint.expressions if hint else []:
            if node.name.lower() == "final" and node.expressions:
                self._check_algorithm(node.expressions[0], aggregates)
                return str(node.expressions[0].name.lower())
            raise self.scope.problem(
                f"unknown hint {node.name.upper()}", node, "there is FINAL(algorithm)", name=True
            )
        return None

    def _check_algorithm(self, node: exp.Expr, aggregates: Sequence[Aggregate]) -> None:
        partitioned = self.partition is not None
        try:
            algorithm = named(node.name)
            for item in aggregates:
                for part in item.partials:
                    refuse_mismatch(algorithm, part.operation, str(item), partitioned=partitioned)
        except PlanError as error:
            raise self.scope.problem(str(error), node) from error

    # the SELECT list

    def _rows(self, source: str, joins: Sequence[AskedSql], where: str | None) -> list[Output]:
        """The result columns of a query without a window: Spark SQL over the rows."""
        self.list.refuse_hints("without a window")
        items = self.list.items(self.had)
        names = self.list.check_names(items)
        expressions = [spark_sql(self.scope.resolve(unaliased(item))) for item in items]
        asked = list(zip(expressions, items, strict=True))
        conditions = [(where, self.select.args["where"])] if where else []
        relations = {relation.name: relation.columns for relation in self.scope.relations.values()}
        found = types(self.spark, self.query, asked, source, relations, joins, conditions)
        return [
            Output(name, sql, of_type, answer=sql)
            for name, sql, of_type in zip(names, expressions, found, strict=True)
        ]

    def _outputs(
        self,
        lifted: list[tuple[exp.Expr, exp.Expr]],
        having: str | None,
        key_types: Sequence[pa.DataType],
        aggregates: Sequence[Aggregate],
    ) -> list[Output]:
        columns = dict(self.window_columns)
        columns |= {key_name(i): of_type for i, of_type in enumerate(key_types)}
        columns |= {aggregate_name(i): item.result_type for i, item in enumerate(aggregates)}
        relations = {ANSWERS: columns}
        lifted = [
            (item, node)
            for item, node in lifted
            if node.name.lower() not in self.window_columns or item.alias
        ]
        names = self.list.check_names([item for item, _ in lifted], self.window_columns)
        expressions = [spark_sql(node) for _, node in lifted]
        asked = [(sql, item) for sql, (item, _) in zip(expressions, lifted, strict=True)]
        conditions = [(having, self.select.args["having"])] if having else []
        found = types(self.spark, self.query, asked, view_name(ANSWERS), relations, conditions=conditions)
        return [
            Output(name, sql, of_type, node.name if isinstance(node, exp.Column) else None)
            for name, sql, of_type, (_, node) in zip(names, expressions, found, lifted, strict=True)
        ]
