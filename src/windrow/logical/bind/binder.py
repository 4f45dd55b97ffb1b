"""A parsed SELECT to a bound plan: every name looked up, every type known, everything odd refused.

1. Refuse what a continuous query cannot have.
2. FROM: one stream, then unchanging tables; columns are resolved against them.
3. WHERE and GROUP BY become Spark SQL; aggregates are lifted out of SELECT and HAVING. Without a window there
   are none, and the SELECT list is Spark SQL over the rows.
4. Spark types the keys, arguments and answers, and so checks them as it would check any query.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow.types as pat
from sqlglot import exp

from windrow.aggregates import FUNCTIONS, Aggregate, share_moments
from windrow.aggregates.call import EVERY_ROW
from windrow.aggregates.contents import contents_of
from windrow.columns import RESERVED, aggregate_name, key_name
from windrow.cql import RowWindowNode
from windrow.errors import PlanError, suggestion
from windrow.final import named, refuse_mismatch
from windrow.logical.aggregate import AggregateQuery, window_columns
from windrow.logical.bind.calls import is_aggregate, spark_sql
from windrow.logical.bind.from_clause import FromClause
from windrow.logical.bind.lift import Lift
from windrow.logical.bind.questions import types, view_name
from windrow.logical.bind.refuse import function_name, refuse
from windrow.logical.bind.scope import Scope
from windrow.logical.bind.stars import without_stars
from windrow.logical.query import Output, Scan
from windrow.logical.relation import Stream
from windrow.logical.select import SelectQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from windrow.aggregates import Function
    from windrow.cql import Query
    from windrow.logical.bind.questions import Analyst, AskedSql
    from windrow.logical.query import BoundQuery
    from windrow.logical.relation import Relation

ANSWERS = "answers"


def bind(
    query: Query,
    relations: Mapping[str, Relation],
    spark: Analyst,
    functions: Mapping[str, Function] = FUNCTIONS,
    had: Sequence[str] = (),
) -> BoundQuery:
    """The plan of a query over known relations, with these aggregate functions.

    `had`: the result columns of a query that was bound before. A star in it does not grow.
    """
    return _Binder(query, relations, spark, functions, had).bind()


class _Binder:
    def __init__(
        self,
        query: Query,
        relations: Mapping[str, Relation],
        spark: Analyst,
        functions: Mapping[str, Function],
        had: Sequence[str],
    ) -> None:
        self.query = query
        self.had = had
        self.select = query.select
        self.relations = relations
        self.spark = spark
        self.functions = functions
        self.scope = Scope(query.text, {})
        self.keys: list[str] = []
        self.window_columns: dict[str, pa.DataType] = {}
        self.lift = Lift(self.scope, self.keys, self.window_columns, functions)
        self.partition: RowWindowNode | None = None

    def bind(self) -> BoundQuery:
        refuse(self.query)
        found = FromClause(self.select, self.scope, self.relations, grouped=self._groups())
        stream, window, self.partition = found.stream, found.window, found.partition
        self._check_functions()
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
        lifted = [(item, self.lift(_unaliased(item))) for item in self.select.selects]
        having_node = self.select.args.get("having")
        having = spark_sql(self.lift(self._spelled_out(having_node.this))) if having_node else None
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

    def _groups(self) -> bool:
        """Whether the statement groups rows, so that it has to say of which time."""
        if self.select.args.get("group") or self.select.args.get("having"):
            return True
        return any(self._is_aggregate(node) for item in self.select.selects for node in item.walk())

    def _check_partition(self) -> None:
        """PARTITION BY says whose rows are counted, GROUP BY whose are aggregated: they must agree."""
        if self.partition is None or not self.partition.keys:
            return
        for node in self.partition.keys:
            if any(self._is_aggregate(inner) for inner in node.walk()):
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

    def _check_functions(self) -> None:
        for node in self.select.find_all(exp.Anonymous):
            if node.find_ancestor(exp.Hint) is not None or self._is_aggregate(node):
                continue
            if node.name.lower() not in self.spark.functions():
                hint = suggestion(node.name, [*self.functions, *self.spark.functions()]) or (
                    f"register an aggregate of your own with eng.aggregate('{node.name}', …)"
                )
                raise self.scope.problem(f"unknown function '{node.name}'", node, hint, name=True)

    def _bind_where(self) -> str | None:
        where = self.select.args.get("where")
        if where is None:
            return None
        call = next((node for node in where.find_all(exp.Func) if self._is_aggregate(node)), None)
        if call is not None:
            raise self.scope.problem(
                f"{function_name(call).upper()} is an aggregate and cannot stand in WHERE", call,
                "conditions on aggregates go behind HAVING",
            )  # fmt: skip
        return spark_sql(self.scope.resolve(where.this))

    def _bind_keys(self) -> list[str]:
        group = self.select.args.get("group")
        if group is None:
            return []
        for extra in ("grouping_sets", "rollup", "cube", "totals", "all"):
            if group.args.get(extra):
                raise self.scope.problem(
                    f"GROUP BY {extra.replace('_', ' ').upper()} is not supported yet", group
                )
        keys = []
        for node in group.expressions:
            if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
                raise self.scope.problem(f"GROUP BY {type(node).__name__.upper()} is not supported yet", node)
            expression = self._group_expression(node)
            call = next((inner for inner in expression.find_all(exp.Func) if self._is_aggregate(inner)), None)
            if call is not None:
                raise self.scope.problem(
                    f"{function_name(call).upper()} is an aggregate and cannot stand in GROUP BY", node
                )
            keys.append(spark_sql(self.scope.resolve(expression)))
        return list(dict.fromkeys(keys))

    def _group_expression(self, node: exp.Expr) -> exp.Expr:
        """GROUP BY 1 and GROUP BY alias mean an item of the SELECT list, as in Spark."""
        items = self.select.selects
        if isinstance(node, exp.Literal) and node.is_int:
            place = int(node.name)
            if not 1 <= place <= len(items):
                raise self.scope.problem(f"GROUP BY {place}: the SELECT list has no item {place}", node)
            return _unaliased(items[place - 1])
        if isinstance(node, exp.Column) and not node.table and not self.scope.knows(node.name):
            for item in items:
                if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                    return item.this
        return node

    def _spelled_out(self, condition: exp.Expr) -> exp.Expr:
        """HAVING may use the aliases of the SELECT list, as in Spark."""
        aliases = {item.alias.lower(): item for item in self.select.selects if isinstance(item, exp.Alias)}

        def spell(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not node.table and not self.scope.knows(node.name):
                item = aliases.get(node.name.lower())
                if item is not None:
                    return exp.paren(item.this.copy())
            return node

        return condition.transform(spell)

    def _types(
        self, source: str, joins: Sequence[AskedSql], where: str | None
    ) -> tuple[list[pa.DataType], list[Aggregate]]:
        """What Spark says of the keys, the arguments and the aggregates, in two questions."""
        group = self.select.args.get("group")
        key_nodes = group.expressions if group else []
        calls = self.lift.calls
        asked = list(zip(self.keys, key_nodes, strict=False))
        for call, node in calls.items():
            asked += [("1" if argument == EVERY_ROW else argument, node) for argument in call.arguments]
        if not asked:
            raise self.scope.problem("the query neither groups nor aggregates", self.select.selects[0])
        condition = (where, self.select.args["where"]) if where else None
        relations = {relation.name: relation.columns for relation in self.scope.relations.values()}
        found = types(self.spark, self.query, asked, source, relations, joins, condition)
        key_types, argument_types = found[: len(self.keys)], iter(found[len(self.keys) :])
        for key, of_type, node in zip(self.keys, key_types, key_nodes, strict=False):
            if pat.is_nested(of_type):
                raise self.scope.problem(
                    f"GROUP BY {key}: values of type {of_type} cannot be grouped yet", node
                )
        answers = [(self.functions[call.function].answer_sql(call), node) for call, node in calls.items()]
        # Where Spark does not know the function, what it is asked for the answer may be without FILTER.
        filters = [
            (f"count(*) FILTER (WHERE {call.where})", node)
            for call, node in calls.items()
            if call.where is not None and self.functions[call.function].answer is not None
        ]
        answer_types = types(self.spark, self.query, [*answers, *filters], source, relations, joins)
        aggregates = []
        for (call, node), answer in zip(calls.items(), answer_types, strict=False):
            given = tuple(next(argument_types) for _ in call.arguments)
            try:
                made = self.functions[call.function].make(call, given, answer)
            except PlanError as error:
                raise self.scope.problem(str(error), node) from error
            if self.partition is not None and self.partition.keys and contents_of(made) is not None:
                raise self.scope.problem(
                    f"{call.function.upper()} is not supported yet with PARTITION BY … ROWS",
                    node,
                    "use a RANGE, or ROWS alone",
                )
            aggregates.append(made)
        return key_types, share_moments(aggregates)

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
                for partial in item.partials:
                    refuse_mismatch(algorithm, partial.operation, str(item), partitioned=partitioned)
        except PlanError as error:
            raise self.scope.problem(str(error), node) from error

    def _is_aggregate(self, node: exp.Expr) -> bool:
        return is_aggregate(node, self.functions)

    # the SELECT list

    def _rows(self, source: str, joins: Sequence[AskedSql], where: str | None) -> list[Output]:
        """The result columns of a query without a window: Spark SQL over the rows."""
        self._refuse_hints()
        # What is written beside a star, or given by the engine, was no column of the star.
        others = {self._output_name(item).lower() for item in self.select.selects if not item.is_star}
        had = [name for name in self.had if name.lower() not in RESERVED | others]
        items = without_stars(self.select.selects, self.scope, had)
        names = [self._output_name(item) for item in items]
        self._check_names(items, names)
        expressions = [spark_sql(self.scope.resolve(_unaliased(item))) for item in items]
        asked = list(zip(expressions, items, strict=True))
        condition = (where, self.select.args["where"]) if where else None
        relations = {relation.name: relation.columns for relation in self.scope.relations.values()}
        found = types(self.spark, self.query, asked, source, relations, joins, condition)
        return [
            Output(name, sql, of_type, answer=sql)
            for name, sql, of_type in zip(names, expressions, found, strict=True)
        ]

    def _refuse_hints(self) -> None:
        hint = self.select.args.get("hint")
        for node in hint.expressions if hint else []:
            raise self.scope.problem(f"{node.name.upper()} has no meaning without a window", node, name=True)

    def _check_names(self, items: Sequence[exp.Expr], names: Sequence[str]) -> None:
        counts = Counter([*self.window_columns, *(name.lower() for name in names)])
        for item, name in zip(items, names, strict=True):
            if name.lower() in RESERVED:
                raise self.scope.problem(f"the name '{name}' is Windrow's own", item, "use another alias")
            if counts[name.lower()] > 1:
                raise self.scope.problem(
                    f"two result columns are called '{name}'", item, "give one of them an alias"
                )

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
        names = [self._output_name(item) for item, _ in lifted]
        self._check_names([item for item, _ in lifted], names)
        expressions = [spark_sql(node) for _, node in lifted]
        asked = [(sql, item) for sql, (item, _) in zip(expressions, lifted, strict=True)]
        condition = (having, self.select.args["having"]) if having else None
        found = types(self.spark, self.query, asked, view_name(ANSWERS), relations, condition=condition)
        return [
            Output(name, sql, of_type, node.name if isinstance(node, exp.Column) else None)
            for name, sql, of_type, (_, node) in zip(names, expressions, found, lifted, strict=True)
        ]

    def _output_name(self, item: exp.Expr) -> str:
        if isinstance(item, exp.Alias | exp.Column):
            return str(item.alias_or_name)
        return spark_sql(item).replace("`", "").lower() if isinstance(item, exp.Func) else spark_sql(item)


def _unaliased(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, exp.Alias) else item
