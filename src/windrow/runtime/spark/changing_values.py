"""What changes by itself in a statement, found by the rules with which Spark replaces it.

`TIMESTAMP 'now'`, `ts > 'yesterday'` and `unix_timestamp()` look like constants, and are the time at which
Spark plans a job: every batch would get another one, and an answer would depend on when it was
computed. Where Spark takes a string for a date is known to Spark alone (`page = 'today'` compares strings):
so its own rules are run over the analysed statement, and what they would replace is refused.

Cost: seven calls into the JVM for a question that Spark has not answered before, 1 to 10 ms (measured with
sixty statements on two busy cores).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from windrow.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

DATES = ("date", "timestamp", "timestamp_ntz")
SPECIAL = re.compile(r"\s*(now|today|tomorrow|yesterday)(?![a-z])", re.IGNORECASE)
"""What Spark takes for a date, with a time zone behind it or not. 'epoch' is one too, and never changes."""
OF_THE_SESSION = "CurrentTimeZone"
"""Spark replaces the session's time zone by the same rule as the time; it is a setting, and stays."""
WHY = "changes by itself, so answers would not be repeatable"


class ChangingValues:
    """Looks for them, with the rules of one session's Spark: finding the rules takes more calls than using
    them."""

    def __init__(self, spark: SparkSession) -> None:
        rules = spark._jvm.org.apache.spark.sql.catalyst.optimizer  # type: ignore[union-attr]
        self._spell_out = rules.ReplaceExpressions
        self._replace_time = rules.ComputeCurrentTime
        self._replace_dates = rules.SpecialDatetimeValues

    def refuse(self, frame: DataFrame) -> None:
        """Raise a StatementError if a frame has values that would be other ones in another batch or restart.

        Its `text` is the date that Spark takes for one, if that is it.
        """
        plan = frame._jdf.queryExecution().analyzed()
        if not plan.deterministic():
            raise StatementError(f"{_called(_random(plan))} {WHY}")
        plan = self._spell_out.apply(plan)
        if plan.fastEquals(self._replace_dates.apply(self._replace_time.apply(plan))):
            return
        for expression in _expressions(plan):
            kind = expression.nodeName()
            if kind.startswith(("Current", "Local", "Now")) and kind != OF_THE_SESSION:
                raise StatementError(f"{_called(expression)} {WHY}")
            date = _special_date(expression) if kind.lower() == "cast" else None
            if date is not None:
                raise StatementError(
                    f"'{date}' is a {expression.dataType().typeName()} here, which {WHY}",
                    date,
                    hint="write the date or the time out",
                )


def _special_date(cast: Any) -> str | None:
    """The text of which a cast makes the time of the moment."""
    text = cast.child()
    is_text = text.dataType().typeName() == "string"
    if cast.dataType().typeName() not in DATES or not is_text or not text.foldable():
        return None
    value = str(text.eval(None))
    return value if SPECIAL.match(value) else None


def _random(plan: Any) -> Any:
    """The innermost expression that Spark knows to be another one each time."""
    return [expression for expression in _expressions(plan) if not expression.deterministic()][-1]


def _called(expression: Any) -> str:
    users = expression.nodeName() == "PythonUDF"
    return f"{expression.name() if users else expression.prettyName()}()"


def _expressions(plan: Any) -> Iterator[Any]:
    """All expressions of a plan, each before those inside it."""
    for node in _nodes(plan):
        roots = node.expressions()
        for place in range(roots.size()):
            yield from _nodes(roots.apply(place))


def _nodes(tree: Any) -> Iterator[Any]:
    yield tree
    children = tree.children()
    for place in range(children.size()):
        yield from _nodes(children.apply(place))
