"""What slices cannot answer, as trees of operators: which tree a statement becomes, what is computed where, and
what is refused. Whether the answers are right is tested where they are computed.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.types as pat
import pytest

from windrow.aggregates import FUNCTIONS
from windrow.cql import parse
from windrow.errors import StatementError
from windrow.logical import (
    AggregateQuery,
    PlanRecords,
    RelationalQuery,
    SelectQuery,
    Stream,
    Table,
    bind,
    view_name,
    with_named_queries,
)
from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree import Compute, Distinct, Group, Join, Rows, Union
from windrow.runtime.spark.analysis import SparkAnalyst

TIME = pa.timestamp("us", "UTC")
RELATIONS = {
    "calls": Stream(
        "calls", {"ts": TIME, "src": pa.int64(), "cost": pa.float64(), "city": pa.string()}, "ts"
    ),
    "texts": Stream(
        "texts", {"ts": TIME, "src": pa.int32(), "size": pa.int64(), "tags": pa.map_(pa.string(), pa.int32())}, "ts"
    ),
    "people": Table("people", {"src": pa.int64(), "name": pa.string()}),
    "abroad": Stream("abroad", {"ts": TIME, "src": pa.int64()}, "ts", zone="Asia/Tokyo"),
    "plain": Stream("plain", {"ts": pa.timestamp("us"), "src": pa.int64()}, "ts"),
}  # fmt: skip

W = "[RANGE 1 HOUR]"
S = "[RANGE 1 HOUR SLIDE 1 MINUTE]"


def windows(text: str) -> str:
    """A text with windows in place of W and S."""
    return re.sub(r"\bS\b", S, re.sub(r"\bW\b", W, text))


QUERIES = {
    name: windows(sql)
    for name, sql in {
        "dear": "SELECT src, cost * 2 AS twice FROM calls WHERE cost > 5",
        "dearest": "WITH dear AS (SELECT src, cost * 2 AS twice FROM calls WHERE cost > 5) "
        "SELECT src FROM dear WHERE twice > 50",
        "known": "SELECT c.src, name FROM calls c JOIN people p ON c.src = p.src -- all of them",
        "minutes": "SELECT RSTREAM city, COUNT(*) AS n, window_end AS minute "
        "FROM calls [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY city HAVING COUNT(*) > 3",
        "there": "SELECT src FROM calls S",
        "told": "SELECT c.src FROM calls [RANGE 1 HOUR INTERNAL] c JOIN texts [RANGE 1 HOUR INTERNAL] t ON c.src = t.src",
        "totals": "SELECT COUNT(*) AS n FROM calls W",
        "pairs": "SELECT c.src FROM calls W c JOIN texts W t ON c.src = t.src",
        "here": "SELECT src FROM calls W",
        "news": "SELECT ISTREAM src FROM calls W",
        "tens": "SELECT COUNT(*) AS n FROM calls [ROWS 10 SLIDE 1]",
    }.items()
}

# statement (W and S are windows without and with SLIDE), its results, HAVING, and its tree
TREES = [
    (
        "SELECT c.src, cost, size, cost + size AS sum FROM calls W c, texts W t "
        "WHERE c.src = t.src AND cost > 1 AND cost < size",
        """
        c.src AS src, c.cost AS cost, t.size AS size, c.cost + t.size AS sum
        join on c.src = CAST(t.src AS BIGINT) AND c.cost < t.size keeping c.src, c.cost, t.size
          calls [RANGE 1 HOUR]: `calls`.`src`, `calls`.`cost` where `calls`.`cost` > 1
          texts [RANGE 1 HOUR]: CAST(`texts`.`src` AS BIGINT), `texts`.`size`
        """,
    ),
    (
        "SELECT * FROM calls W JOIN people USING (src)",
        """
        calls.src AS src, calls.ts AS ts, calls.cost AS cost, calls.city AS city, people.name AS name
        calls [RANGE 1 HOUR] JOIN `_windrow_people` AS `people` ON `calls`.`src` = `people`.`src`: \
`calls`.`src`, `calls`.`ts`, `calls`.`cost`, `calls`.`city`, `people`.`name`
        """,
    ),
    (
        "SELECT name, size FROM calls W c, people p, texts W t WHERE t.src = c.src AND p.src = c.src",
        """
        p.name AS name, t.size AS size
        join on c.src = CAST(t.src AS BIGINT) keeping p.name, t.size
          calls [RANGE 1 HOUR] CROSS JOIN `_windrow_people` AS `p`: `calls`.`src`, `p`.`name` \
where `p`.`src` = `calls`.`src`
          texts [RANGE 1 HOUR]: CAST(`texts`.`src` AS BIGINT), `texts`.`size`
        """,
    ),
    (
        "SELECT a.src FROM calls W a LEFT JOIN people p ON p.src = a.src JOIN texts W t ON t.src = a.src "
        "AND name = 'x'",
        """
        a.src AS src
        join on a.src = CAST(t.src AS BIGINT) keeping a.src
          calls [RANGE 1 HOUR] LEFT JOIN `_windrow_people` AS `p` ON `p`.`src` = `calls`.`src`: `calls`.`src` \
where `p`.`name` = 'x'
          texts [RANGE 1 HOUR]: CAST(`texts`.`src` AS BIGINT)
        """,
    ),
    (  # an equality goes before what FROM has first; what is of two sides is computed above them
        "SELECT b.cost FROM calls W a, calls W b, texts [NOW] t "
        "WHERE t.src = a.src AND a.cost + t.size = b.cost AND a.city <> b.city",
        """
        b.cost AS cost
        join on a.cost + t.size = b.cost AND a.city <> b.city keeping b.cost
          compute a.city, a.cost + t.size
            join on a.src = CAST(t.src AS BIGINT) keeping a.cost, a.city, t.size
              calls [RANGE 1 HOUR]: `calls`.`src`, `calls`.`cost`, `calls`.`city`
              texts [NOW]: CAST(`texts`.`src` AS BIGINT), `texts`.`size`
          calls [RANGE 1 HOUR]: `calls`.`cost`, `calls`.`city`
        """,
    ),
    (
        "WITH dear (who, c) AS (SELECT src, cost * 2 FROM calls W WHERE cost > 5) "
        "SELECT l.who, r.c FROM dear l, dear r WHERE l.who = r.who AND l.c > 7",
        """
        l.src AS who, r.cost * 2 AS c
        join on l.src = r.src keeping l.src, r.cost * 2
          calls [RANGE 1 HOUR]: `calls`.`src` where `calls`.`cost` > 5 AND (`calls`.`cost` * 2) > 7
          calls [RANGE 1 HOUR]: `calls`.`src`, `calls`.`cost` * 2 where `calls`.`cost` > 5
        """,
    ),
    (
        "SELECT DISTINCT city, upper(city) AS u FROM calls W",
        """
        city, u
        distinct city, u
          take calls.city AS city, UPPER(calls.city) AS u
            calls [RANGE 1 HOUR]: `calls`.`city`, UPPER(`calls`.`city`)
        """,
    ),
    (
        "SELECT src FROM calls W UNION SELECT src FROM texts [RANGE 2 HOURS] UNION SELECT 1 FROM calls [UNBOUNDED]",
        """
        src
        distinct src
          union
            take calls.src AS src
              calls [RANGE 1 HOUR]: `calls`.`src`
            take CAST(texts.src AS BIGINT) AS src
              texts [RANGE 2 HOURS]: CAST(`texts`.`src` AS BIGINT)
            take CAST(1 AS BIGINT) AS src
              calls [UNBOUNDED]: CAST(1 AS BIGINT)
        """,
    ),
    (
        "SELECT src, city FROM calls W INTERSECT SELECT src, 'u' AS u FROM texts W",
        """
        src, city
        join on src <=> src#2 AND city <=> u keeping src, city
          distinct src, city
            take calls.src AS src, calls.city AS city
              calls [RANGE 1 HOUR]: `calls`.`src`, `calls`.`city`
          distinct src#2, u
            take CAST(texts.src AS BIGINT) AS src#2, 'u' AS u
              texts [RANGE 1 HOUR]: CAST(`texts`.`src` AS BIGINT), 'u'
        """,
    ),
    (
        "SELECT city FROM calls W c WHERE src IN (SELECT src FROM texts W WHERE size > 3) AND cost > 1",
        """
        c.city AS city
        join on c.src = CAST(texts.src AS BIGINT) keeping c.city
          calls [RANGE 1 HOUR]: `calls`.`src`, `calls`.`city` where `calls`.`cost` > 1
          distinct CAST(texts.src AS BIGINT)
            texts [RANGE 1 HOUR]: CAST(`texts`.`src` AS BIGINT) where `texts`.`size` > 3
        """,
    ),
    (
        "SELECT city FROM calls W c WHERE EXISTS (SELECT * FROM texts W WHERE src = c.src AND size > cost "
        "AND c.cost > 3)",
        """
        c.city AS city
        take c.city
          distinct #row
            join on c.src = CAST(texts.src AS BIGINT) AND texts.size > c.cost keeping c.city, #row
              number the rows
                calls [RANGE 1 HOUR]: `calls`.`src`, `calls`.`cost`, `calls`.`city` where `calls`.`cost` > 3
              texts [RANGE 1 HOUR]: CAST(`texts`.`src` AS BIGINT), `texts`.`size`
        """,
    ),
    (
        "SELECT a.city FROM calls W a LEFT SEMI JOIN calls W b USING (src) WHERE EXISTS (SELECT 1 FROM texts W)",
        """
        a.city AS city
        join each with each keeping a.city
          join on a.src = b.src keeping a.city
            calls [RANGE 1 HOUR]: `calls`.`src`, `calls`.`city`
            distinct b.src
              calls [RANGE 1 HOUR]: `calls`.`src`
          distinct 1
            compute 1
              texts [RANGE 1 HOUR]: `texts`.`ts`
        """,
    ),
    (
        "SELECT city, COUNT(*) AS n, AVG(cost) AS mean FROM calls W GROUP BY city HAVING COUNT(*) > 2",
        """
        _key0 AS city, _aggregate0 AS n, _aggregate1 AS mean having _aggregate0 > 2
        aggregate COUNT(*), AVG(calls.cost) by calls.city, at every change
          calls [RANGE 1 HOUR]: `calls`.`city`, CAST(`calls`.`cost` AS DOUBLE), NOT `calls`.`cost` IS NULL
        """,
    ),
    (
        "SELECT c.city, SUM(c.cost * t.size) / 2 AS half, MEDIAN(size) FILTER (WHERE size > 1) AS m "
        "FROM calls S c JOIN texts S t ON c.src = t.src GROUP BY c.city",
        """
        _key0 AS city, _aggregate0 / 2 AS half, _aggregate1 AS m
        aggregate SUM(c.cost * t.size), MEDIAN(t.size) FILTER (WHERE t.size > 1) by c.city, every 1 minute
          compute c.city, CASE WHEN t.size > 1 THEN t.size END, CAST(c.cost * t.size AS DOUBLE)
            join on c.src = CAST(t.src AS BIGINT) keeping c.city, c.cost, t.size, CASE WHEN t.size > 1 THEN t.size END
              calls [RANGE 1 HOUR]: `calls`.`src`, `calls`.`city`, `calls`.`cost`
              texts [RANGE 1 HOUR]: CAST(`texts`.`src` AS BIGINT), `texts`.`size`, \
CASE WHEN `texts`.`size` > 1 THEN `texts`.`size` END
        """,
    ),
    (  # a ratio per minute; all sub-queries are evaluated together
        "SELECT a.window_end, a.city, a.n / b.n AS ratio "
        "FROM (SELECT window_end, city, COUNT(*) AS n FROM calls S WHERE cost > 1 GROUP BY city, window_end) a "
        "JOIN (SELECT window_end, city, COUNT(*) AS n FROM calls S GROUP BY city) b "
        "ON a.city = b.city AND a.window_end = b.window_end",
        """
        a.city AS city, a.n / b.n AS ratio
        all that is there, every 1 minute
          join on a.city = b.city keeping a.city, a.n, b.n
            take _key0 AS a.city, _aggregate0 AS a.n
              aggregate COUNT(*) by calls.city, every 1 minute
                calls [RANGE 1 HOUR]: `calls`.`city` where `calls`.`cost` > 1
            take _key0 AS b.city, _aggregate0 AS b.n
              aggregate COUNT(*) by calls.city#2, every 1 minute
                calls [RANGE 1 HOUR]: `calls`.`city`
        """,
    ),
    (
        "SELECT n, COUNT(*) AS cities FROM (SELECT city, COUNT(*) AS n FROM calls S GROUP BY 1 HAVING n > 1) "
        "GROUP BY n",
        """
        _key0 AS n, _aggregate0 AS cities
        aggregate COUNT(*) by _aggregate0, every 1 minute
          compute _aggregate0 where (_aggregate0) > 1
            aggregate COUNT(*) by calls.city, every 1 minute
              calls [RANGE 1 HOUR]: `calls`.`city`
        """,
    ),
    (
        "SELECT city, n FROM (SELECT city, COUNT(*) AS n FROM calls W GROUP BY city) WHERE n > 3",
        """
        _key0 AS city, _aggregate0 AS n having _aggregate0 > 3
        aggregate COUNT(*) by calls.city, at every change
          calls [RANGE 1 HOUR]: `calls`.`city`
        """,
    ),
    (
        "SELECT window_end AS e, city FROM calls S",
        """
        window_end AS e, calls.city AS city
        all that is there, every 1 minute
          calls [RANGE 1 HOUR]: `calls`.`city`
        """,
    ),
    (  # what is new is told by value: of the columns of the results
        "SELECT ISTREAM city, COUNT(*) > 1 AS often FROM calls W GROUP BY city HAVING SUM(cost) > 9",
        """
        city, often
        compute _key0 AS city, _aggregate0 > 1 AS often where _aggregate1 > 9
          aggregate COUNT(*), SUM(calls.cost) by calls.city, at every change
            calls [RANGE 1 HOUR]: `calls`.`city`, CAST(`calls`.`cost` AS DOUBLE)
        """,
    ),
    (
        "SELECT DSTREAM * FROM (SELECT src FROM calls S UNION ALL SELECT src FROM texts S)",
        """
        src
        all that is there, every 1 minute
          take subquery.src AS src
            union
              take calls.src AS subquery.src
                calls [RANGE 1 HOUR]: `calls`.`src`
              take CAST(texts.src AS BIGINT) AS subquery.src
                texts [RANGE 1 HOUR]: CAST(`texts`.`src` AS BIGINT)
        """,
    ),
    (
        "SELECT LAST(city) AS l, COLLECT_LIST(src) AS s FROM calls W",
        """
        _aggregate0 AS l, _aggregate1 AS s
        aggregate LAST(calls.city), COLLECT_LIST(calls.src), at every change
          calls [RANGE 1 HOUR]: STRUCT(_windrow_instant AS key, `calls`.`city` AS value), `calls`.`src`
        """,
    ),
    (  # rows without columns could not be counted
        "SELECT COUNT(*) AS n FROM calls W, texts W",
        """
        _aggregate0 AS n
        aggregate COUNT(*), at every change
          join each with each keeping calls.ts
            calls [RANGE 1 HOUR]: `calls`.`ts`
            texts [RANGE 1 HOUR]: `texts`.`ts`
        """,
    ),
    (  # strings and numbers are compared by Spark, pair by pair; NULLs are no equality
        "SELECT a.src FROM calls W a JOIN texts W b ON a.city = b.src AND a.src <=> b.size",
        """
        a.src AS src
        join on a.city = b.src AND a.src IS NOT DISTINCT FROM b.size keeping a.src
          calls [RANGE 1 HOUR]: `calls`.`city`, `calls`.`src`
          texts [RANGE 1 HOUR]: `texts`.`src`, `texts`.`size`
        """,
    ),
    (
        "SELECT MAX(cost) AS m FROM calls [RANGE 1 HOUR SLIDE 1 MINUTE INTERNAL]",
        """
        _aggregate0 AS m
        aggregate MAX(calls.cost), every 1 minute
          calls [RANGE 1 HOUR INTERNAL]: `calls`.`cost`
        """,
    ),
]  # fmt: skip

TREES += [
    (
        "SELECT d.src, size FROM dear W d, texts W t WHERE d.src = t.src",
        """
        d.src AS src, t.size AS size
        join on d.src = CAST(t.src AS BIGINT) keeping d.src, t.size
          calls [RANGE 1 HOUR]: `calls`.`src` where `calls`.`cost` > 5
          texts [RANGE 1 HOUR]: CAST(`texts`.`src` AS BIGINT), `texts`.`size`
        """,
    ),
    (
        "SELECT src FROM calls W WHERE src IN (SELECT src FROM dearest W)",
        """
        calls.src AS src
        join on calls.src = dearest.src keeping calls.src
          calls [RANGE 1 HOUR]: `calls`.`src`
          distinct dearest.src
            calls [RANGE 1 HOUR]: `calls`.`src` where `calls`.`cost` > 5 AND (`calls`.`cost` * 2) > 50
        """,
    ),
    (
        "SELECT name FROM known W",
        """
        p.name AS name
        calls [RANGE 1 HOUR] JOIN `_windrow_people` AS `p` ON `calls`.`src` = `p`.`src`: `p`.`name`
        """,
    ),
    (
        "SELECT city, MAX(n) AS most FROM minutes [RANGE 1 DAY SLIDE 1 HOUR] GROUP BY city",
        """
        _key0 AS city, _aggregate0 AS most
        aggregate MAX(minutes.n) by minutes.city, every 1 hour
          results [RANGE 1 DAY]
            compute _key0 AS minutes.city, _aggregate0 AS minutes.n where _aggregate0 > 3
              aggregate COUNT(*) by calls.city, every 1 minute
                calls [RANGE 1 MINUTE]: `calls`.`city`
        """,
    ),
    (
        "SELECT m.city, n, minute FROM minutes [RANGE 1 DAY INTERNAL] m, calls W c WHERE c.city = m.city",
        """
        m.city AS city, m.n AS n, minute
        join on m.city = c.city keeping m.city, m.n, minute
          results [RANGE 1 DAY INTERNAL]
            compute _key0 AS m.city, _aggregate0 AS m.n where _aggregate0 > 3
              aggregate COUNT(*) by calls.city, every 1 minute
                calls [RANGE 1 MINUTE]: `calls`.`city`
          calls [RANGE 1 HOUR]: `calls`.`city`
        """,
    ),
    (
        "WITH both AS (SELECT src FROM told W WHERE src > 1) "
        "SELECT src FROM both UNION ALL SELECT src FROM `there` W",
        """
        src
        union
          compute told.src AS src where told.src > 1
            results [RANGE 1 HOUR]
              take c.src AS told.src
                join on c.src = CAST(t.src AS BIGINT) keeping c.src
                  calls [RANGE 1 HOUR INTERNAL]: `calls`.`src`
                  texts [RANGE 1 HOUR INTERNAL]: CAST(`texts`.`src` AS BIGINT)
          take there.src AS src
            results [RANGE 1 HOUR]
              all that is there, every 1 minute
                take calls.src AS there.src
                  calls [RANGE 1 HOUR]: `calls`.`src`
        """,
    ),
]  # fmt: skip

SLICED = [
    "SELECT src, AVG(twice) AS a FROM dear S GROUP BY src",
    "WITH dear AS (SELECT src FROM calls) SELECT COUNT(*) AS n FROM dear S",
    "SELECT city, COUNT(*) AS n FROM calls S GROUP BY city",
    "SELECT RSTREAM city, COUNT(*) AS n FROM calls S GROUP BY city",
    "SELECT name, COUNT(*) AS n FROM calls S JOIN people USING (src) GROUP BY name",
    "WITH dear AS (SELECT * FROM calls S WHERE cost > 5) SELECT city, SUM(cost) AS s FROM dear GROUP BY city",
    "SELECT city, n * 2 AS m FROM (SELECT city, COUNT(*) AS n FROM calls S c GROUP BY city) WHERE n > 3",
    "SELECT u, MAX(d) FILTER (WHERE u > 'a') AS m FROM (SELECT upper(city) AS u, cost * 2 AS d FROM calls S) GROUP BY u",
]  # fmt: skip

# statement, what is wrong, the text that is underlined, the hint
REFUSED = [
    ("SELECT c.src FROM calls S c, texts [RANGE 1 HOUR SLIDE 2 MINUTES] t WHERE c.src = t.src",
     "this one has another SLIDE than the first", "[RANGE 1 HOUR SLIDE 2 MINUTES]", "the same, such as SLIDE 1 MINUTE"),
    ("SELECT c.src FROM calls S c, texts [RANGE 1 HOUR SLIDE 1 MINUTE OFFSET 1 SECOND] t WHERE c.src = t.src",
     "this one has another OFFSET than the first", "[RANGE 1 HOUR SLIDE 1 MINUTE OFFSET 1 SECOND]", "the same"),
    ("SELECT c.src FROM calls S c, texts W t WHERE c.src = t.src", "one window has a SLIDE and another has none",
     W, "the same SLIDE, or none"),
    ("SELECT c.src FROM calls W c, (SELECT src, COUNT(*) AS n FROM texts S GROUP BY src) t WHERE c.src = t.src",
     "one window has a SLIDE and another has none", S, "the same SLIDE, or none"),
    ("SELECT DISTINCT src FROM calls [RANGE 1 HOUR INTERNAL]", "DISTINCT over an INTERNAL window has no meaning",
     "[RANGE 1 HOUR INTERNAL]", "leave INTERNAL out"),
    ("SELECT src FROM calls W UNION SELECT src FROM calls [NOW INTERNAL]", "UNION over an INTERNAL window",
     "[NOW INTERNAL]", "leave INTERNAL out"),
    ("SELECT src FROM calls [NOW INTERNAL] INTERSECT SELECT src FROM calls W", "INTERSECT over an INTERNAL window",
     "[NOW INTERNAL]", "leave INTERNAL out"),
    ("SELECT src FROM calls W WHERE src IN (SELECT src FROM texts [NOW INTERNAL])",
     "EXISTS, IN and LEFT SEMI JOIN over an INTERNAL window", "[NOW INTERNAL]", "leave INTERNAL out"),
    ("SELECT src FROM calls [NOW INTERNAL] WHERE EXISTS (SELECT 1 FROM texts W)",
     "EXISTS, IN and LEFT SEMI JOIN over an INTERNAL window", "[NOW INTERNAL]", "leave INTERNAL out"),
    ("SELECT city, COUNT(*) FROM calls [NOW INTERNAL], texts W GROUP BY city",
     "GROUP BY over an INTERNAL window and one that is not", "[NOW INTERNAL]", "make all windows INTERNAL, or none"),
    ("SELECT c.src FROM calls W c, texts [UNBOUNDED] t WHERE c.src = t.src", "would have to keep every row",
     "[UNBOUNDED]", "give the window a RANGE"),
    ("SELECT src FROM calls W WHERE src IN (SELECT src FROM texts [UNBOUNDED])", "would have to keep every row",
     "[UNBOUNDED]", "give the window a RANGE"),
    ("SELECT c.src FROM calls S c, (SELECT src, COUNT(*) AS n FROM texts [RANGE 1 HOUR SLIDE 1 MINUTE INTERNAL] "
     "GROUP BY src) t WHERE c.src = t.src", "would have to keep every row",
     "SELECT src, COUNT(*) AS n FROM texts [RANGE 1 HOUR SLIDE 1 MINUTE INTERNAL] GROUP BY src", ""),
    ("SELECT DISTINCT n FROM (SELECT city, COUNT(*) AS n FROM calls W GROUP BY city)",
     "DISTINCT above a GROUP BY without SLIDE is not supported yet", "DISTINCT", "give the windows a SLIDE"),
    ("SELECT n, COUNT(*) FROM (SELECT city, COUNT(*) AS n FROM calls W GROUP BY city) GROUP BY n",
     "GROUP BY above a GROUP BY without SLIDE", "SELECT n, COUNT(*) FROM (SELECT city, COUNT(*) AS n FROM calls W "
     "GROUP BY city) GROUP BY n", "give the windows a SLIDE"),
    ("SELECT n FROM (SELECT src, COUNT(*) AS n FROM calls W GROUP BY src) a JOIN texts W b ON a.src = b.src",
     "a join above a GROUP BY without SLIDE", "SELECT src, COUNT(*) AS n FROM calls W GROUP BY src", ""),
    ("SELECT src FROM calls W WHERE src IN (SELECT src FROM texts W GROUP BY src)",
     "EXISTS above a GROUP BY without SLIDE", "src IN (SELECT src FROM texts W GROUP BY src)", ""),
    ("SELECT COUNT(*) AS n FROM calls W UNION ALL SELECT COUNT(*) FROM texts W", "UNION above a GROUP BY without SLIDE",
     "SELECT COUNT(*) AS n FROM calls W", "give the windows a SLIDE"),
    ("SELECT c.src FROM calls W c LEFT JOIN texts W t ON c.src = t.src", "LEFT JOIN of windows is not supported yet",
     "texts", "use JOIN, or a table"),
    ("SELECT c.src FROM texts W t, people p LEFT JOIN calls W c ON c.src = p.src", "LEFT JOIN of windows is not supported yet",
     "calls", ""),
    ("SELECT c.src FROM calls W c FULL JOIN texts W t ON c.src = t.src", "FULL JOIN is not supported yet", "texts",
     "use JOIN or LEFT JOIN"),
    ("SELECT c.src FROM calls W c LEFT ANTI JOIN texts W t ON c.src = t.src", "ANTI JOIN is not supported yet",
     "texts", "LEFT SEMI JOIN"),
    ("SELECT city FROM calls W NATURAL JOIN texts W", "NATURAL joins are not supported", "texts", "write JOIN … ON"),
    ("SELECT src FROM calls W WHERE NOT EXISTS (SELECT 1 FROM texts W)", "NOT EXISTS and NOT IN are not supported yet",
     "EXISTS (SELECT 1 FROM texts W)", ""),
    ("SELECT src FROM calls W WHERE src NOT IN (SELECT src FROM texts W)",
     "NOT EXISTS and NOT IN are not supported yet", "src NOT IN (SELECT src FROM texts W)", ""),
    ("SELECT src FROM calls W WHERE cost > 1 OR src IN (SELECT src FROM texts W)",
     "EXISTS and IN (SELECT …) must hold by themselves", "cost > 1 OR src IN (SELECT src FROM texts W)", "UNION"),
    ("SELECT EXISTS (SELECT 1 FROM texts W) AS e FROM calls W", "a sub-query can stand in FROM",
     "SELECT 1 FROM texts W", "give it a name in FROM"),
    ("SELECT city, COUNT(*) FROM calls W GROUP BY city HAVING EXISTS (SELECT 1 FROM texts W)",
     "a sub-query can stand in FROM", "SELECT 1 FROM texts W", "give it a name in FROM"),
    ("SELECT src FROM calls W WHERE cost > (SELECT MAX(size) FROM texts W)", "stands for a value is not supported yet",
     "(SELECT MAX(size) FROM texts W)", "put it into FROM"),
    ("SELECT src FROM calls W WHERE (src, city) IN (SELECT src FROM texts W)", "2 on the left of IN",
     "(src, city) IN (SELECT src FROM texts W)", ""),
    ("SELECT src FROM calls W c WHERE EXISTS (SELECT 1 FROM texts W t WHERE EXISTS (SELECT 1 FROM texts W u "
     "WHERE u.size = c.src))", "columns of the SELECT right around it only", "u.size = c.src", "join the outer relation"),
    ("SELECT c.src FROM calls W c, texts [ROWS 5 SLIDE 1] t WHERE c.src = t.src",
     "a window of ROWS can only be aggregated, by itself", "[ROWS 5 SLIDE 1]", "use a RANGE"),
    ("SELECT LAST(city) FROM calls W, texts W", "LAST asks for the order of rows", "LAST(city)", "MAX_BY"),
    ("SELECT COLLECT_LIST(c) FROM (SELECT DISTINCT cost AS c FROM calls W)", "COLLECT_LIST asks for the order of rows",
     "COLLECT_LIST(c)", "MAX_BY"),
    ("SELECT APPROX_COUNT_DISTINCT(city) FROM calls W", "cannot forget single rows", "APPROX_COUNT_DISTINCT(city)",
     "give the window a SLIDE"),
    ("SELECT DISTINCT tags FROM texts W", "DISTINCT compares values", "tags", "what you need of the map"),
    ("SELECT DISTINCT array(struct(tags)) AS a FROM texts W", "DISTINCT compares values", "array(struct(tags)) AS a",
     "what you need of the map"),
    ("SELECT DISTINCT NULL AS n FROM texts W", "this is NULL", "n", "CAST it"),
    ("SELECT tags FROM texts W INTERSECT SELECT tags FROM texts W", "compares values", "tags", ""),
    ("SELECT src FROM calls W UNION SELECT src, size FROM texts W", "UNION of 1 and 2 columns",
     "SELECT src, size FROM texts W", "as many columns"),
    ("SELECT src FROM calls W UNION ALL SELECT tags FROM texts W", "compatible column types",
     "SELECT src FROM calls W UNION ALL SELECT tags FROM texts W", "CAST"),
    ("SELECT window_end FROM calls S UNION ALL SELECT ts FROM texts S", "with a column of rows", "ts", ""),
    ("SELECT src FROM calls W, texts W", "column 'src' is in calls and in texts", "src", "write calls.src or texts.src"),
    ("SELECT calls.sc FROM calls W, texts W", "'calls' has no column 'sc'", "calls.sc", "did you mean src?"),
    ("SELECT cots FROM calls W", "unknown column 'cots'", "cots", "did you mean cost?"),
    ("SELECT a.src FROM calls W a, texts W A", "two relations are called 'A'", "texts", "another alias"),
    ("SELECT * FROM calls W, texts W", "two result columns are called 'ts'", "*", "alias"),
    ("SELECT calls.src FROM calls W, texts", "stream 'texts' needs a window", "texts", "write texts [RANGE 1 HOUR]"),
    ("SELECT c.src FROM calls W c JOIN txts W t ON c.src = t.src", "unknown stream or table 'txts'", "txts",
     "did you mean texts?"),
    ("SELECT src FROM totals", "'totals' cannot be a stream in FROM: its results end whenever they change (strict)",
     "totals", "or write its statement here as a sub-query"),
    ("SELECT c.src FROM calls W c JOIN totals S t ON c.src = t.n", "its results end whenever they change (strict)",
     "totals", "give its windows a SLIDE, or make them INTERNAL"),
    ("SELECT src FROM pairs S", "its results end at times of their own (weak)", "pairs", "give its windows a SLIDE"),
    ("SELECT src FROM here S", "its results end in the order in which they came (weakest)", "here", "INTERNAL"),
    ("SELECT src FROM news S", "to select from what is new is not supported yet", "news", "without ISTREAM"),
    ("SELECT n FROM tens S", "'tens' cannot be a stream in FROM: a window of ROWS", "tens", "use a RANGE"),
    ("SELECT src FROM dear [ROWS 5 SLIDE 1]", "a window of ROWS can only be aggregated", "[ROWS 5 SLIDE 1]", ""),
    ("SELECT COUNT(*) AS n FROM dear", "'dear' needs a window", "dear", "write dear [RANGE 1 HOUR]"),
    ("SELECT ISTREAM src FROM dear", "'dear' needs a window", "dear", "write dear [RANGE 1 HOUR]"),
    ("SELECT DISTINCT src FROM dear", "'dear' needs a window", "dear", "write dear [RANGE 1 HOUR]"),
    ("SELECT a.src FROM calls W a, dear b", "'dear' needs a window", "dear", ""),
    ("SELECT src FROM calls W UNION SELECT src FROM dear", "'dear' needs a window", "dear", ""),
    ("SELECT src FROM calls W WHERE src IN (SELECT src FROM dear)", "'dear' needs a window", "dear", ""),
    ("SELECT src FROM (SELECT DISTINCT src FROM calls)", "stream 'calls' needs a window", "calls", ""),
    ("SELECT n FROM minutes", "'minutes' needs a window", "minutes", "write minutes [RANGE 1 HOUR]"),
    ("SELECT m.n FROM minutes W m, calls S c", "one window has a SLIDE and another has none", S, ""),
    ("SELECT m.n FROM minutes [UNBOUNDED] m, calls W c", "would have to keep every row", "[UNBOUNDED]", "a RANGE"),
    ("SELECT m.n FROM minutes W m, plain W p", "event times of type timestamp[us]", W, "TIMESTAMP"),
    ("SELECT LAST(n) FROM minutes W", "LAST asks for the order of rows", "LAST(n)", "MAX_BY"),
    ("SELECT nn FROM minutes W", "unknown column 'nn'", "nn", "did you mean n?"),
    ("WITH dear AS (SELECT src FROM dear W) SELECT src FROM dear", "WITH gives that name to another one here", "dear",
     "give that another name"),
    ("WITH dear AS (SELECT * FROM calls W) SELECT src FROM dera", "unknown stream or table 'dera'", "dera",
     "did you mean dear?"),
    ("WITH dear AS (SELECT * FROM calls W) SELECT src FROM dear W", "'dear' cannot be a stream in FROM: its results end "
     "in the order in which they came (weakest)", "dear", "or leave this one out"),
    ("WITH dear AS (SELECT * FROM calls W) SELECT src FROM calls W", "'dear' is used nowhere", "dear", "take it away"),
    ("SELECT src FROM (SELECT * FROM calls W) AS c (a, b)", "2 names for 4 columns", "c (a, b)", "ts, src, cost, city"),
    ("SELECT src FROM (SELECT src, ts FROM calls W) AS c (a, a)", "two columns are called 'a'", "a", ""),
    ("SELECT c.src FROM calls W c, texts W t WHERE c.ts = t.tags", "incompatible types", "c.ts = t.tags", ""),
    ("SELECT c.src FROM calls W c JOIN texts W t ON c.src + t.src", "is not a boolean", "c.src + t.src", ""),
    ("SELECT c.src FROM calls W c JOIN texts W t USING (city)", "'t' has no column 'city'", "city", "its columns are"),
    ("SELECT c.src FROM calls W c JOIN texts W t USING (size)", "nothing before this join has a column 'size'", "size",
     ""),
    ("SELECT a.src FROM calls W a JOIN texts W b ON a.src = b.src JOIN people USING (src)",
     "column 'src' is in a and in b", "src", "write ON"),
    ("SELECT name FROM calls W c, texts W t, people WHERE c.src = t.src", "which one of the streams", "people",
     "write JOIN … ON"),
    ("SELECT name FROM calls W c JOIN texts W t ON c.src = t.src LEFT JOIN people p ON p.src = c.src + t.src",
     "which one of the streams", "people", "write JOIN … ON"),
    ("SELECT name FROM (SELECT src, COUNT(*) AS n FROM calls S GROUP BY src) c JOIN people p ON p.src = c.src",
     "is joined with results", "people", "inside the sub-query"),
    ("SELECT name FROM (SELECT * FROM people)", "'people' is a table, and nothing here is a stream", "people", ""),
    ("SELECT c.src FROM calls W c, abroad W a WHERE c.src = a.src", "are read in different time zones", W,
     "the same time zone"),
    ("SELECT c.src FROM calls W c, plain W p WHERE c.src = p.src", "event times of type timestamp[us]", W, "TIMESTAMP"),
    ("SELECT window_end FROM calls W", "only windows with SLIDE have a window_end", "window_end", "SLIDE"),
    ("SELECT window_start, a.src FROM calls S a, calls [RANGE 2 HOURS SLIDE 1 MINUTE] b WHERE a.src = b.src",
     "begin at different times", "window_start", "use window_end"),
    ("SELECT src FROM calls S WHERE window_end > ts", "a condition on rows cannot be about the evaluation",
     "window_end > ts", "HAVING"),
    ("SELECT ISTREAM src, DATE(window_end) AS d FROM calls S", "every result would be new", "DATE(window_end) AS d", ""),
    ("SELECT DISTINCT DATE(window_end) AS d FROM calls S", "can only be computed at the top", "DATE(window_end) AS d", ""),
    ("SELECT COUNT(*) AS n FROM calls S, texts S GROUP BY DATE(window_end)", "the same window_end", "DATE(window_end)",
     ""),
    ("SELECT src AS window_end FROM calls S", "two result columns are called 'window_end'", "src AS window_end", ""),
    ("SELECT a.n FROM (SELECT src, COUNT(*) AS n FROM calls S GROUP BY src HAVING window_end > '2000-01-01') a, "
     "texts S b WHERE a.src = b.src", "at the top of a query only", "window_end > '2000-01-01'", ""),
    ("SELECT src FROM (SELECT ISTREAM src FROM calls W)", "ISTREAM stands at the top of a query", "ISTREAM",
     "SELECT ISTREAM * FROM (…)"),
    ("SELECT ISTREAM src FROM calls W UNION SELECT src FROM texts W", "ISTREAM stands at the top of a query", "ISTREAM",
     "SELECT ISTREAM * FROM (…)"),
    ("SELECT src FROM calls W WHERE EXISTS (SELECT DSTREAM src FROM texts W)", "DSTREAM stands at the top of a query",
     "DSTREAM", "SELECT DSTREAM * FROM (…)"),
    ("SELECT src FROM (SELECT src FROM calls W LIMIT 3)", "LIMIT has no meaning", "3", ""),
    ("SELECT src FROM calls W UNION SELECT src FROM texts W ORDER BY src", "ORDER BY has no meaning", "src", ""),
    ("SELECT SUM(cost) OVER () FROM calls W, texts W", "OVER is not supported on streams", "SUM(cost) OVER ()", ""),
    ("SELECT /*+ FINAL(daba) */ src FROM calls W", "FINAL has no meaning here", "FINAL", ""),
    ("SELECT src FROM calls W WHERE MAX(cost) > 1", "MAX is an aggregate and cannot stand in WHERE", "MAX(cost)", ""),
    ("SELECT uper(city) FROM calls W, texts W", "unknown function 'uper'", "uper", "did you mean upper?"),
    ("SELECT src FROM calls W WHERE cost > rand()", "rand() changes by itself", "rand()", ""),
    ("SELECT city, cost FROM calls W GROUP BY city", "'cost' is neither grouped nor aggregated", "cost", "GROUP BY it"),
    ("SELECT *, COUNT(*) FROM calls W", "SELECT * has no meaning in an aggregate query", "*", ""),
    ("SELECT COUNT(*) FROM texts W GROUP BY tags", "cannot be grouped yet", "tags", ""),
    ("SELECT src FROM (calls W JOIN texts W USING (src)) JOIN people", "only streams, tables and sub-queries can stand",
     "(calls W JOIN texts W USING (src))", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def analyst(spark):
    return SparkAnalyst(spark)


def bound(sql, analyst, had=()):
    return bind(asked(sql), RELATIONS, analyst, FUNCTIONS, had, queries=list(QUERIES))


def asked(sql):
    """A statement, with those of the queries that it selects from."""
    (query,) = parse(windows(sql))
    return with_named_queries(query, RELATIONS, lambda name: QUERIES.get(name.lower()))


def drawn(query: RelationalQuery) -> str:
    """The results of a query and its tree, with what is asked of the streams at its leaves."""
    columns = (
        o.name if o.expression == f"`{o.name}`" else f"{o.expression.replace('`', '')} AS {o.name}"
        for o in query.outputs
    )
    having = f" having {query.having.replace('`', '')}" if query.having else ""
    return "\n".join([", ".join(columns) + having, *_lines(query, query.root, "")])


def _lines(query, node, indent):
    text = str(node)
    if isinstance(node, Join):
        text += f" keeping {', '.join(node.kept)}"
    if isinstance(node, Rows):
        read = query.reads[node.port]
        joined = "".join(f" {one.join}" for one in read.enrichments)
        text += f"{joined}: {', '.join(o.expression for o in read.outputs)}"
        text += f" where {read.where}" if read.where else ""
    return [indent + text, *(line for one in node.inputs for line in _lines(query, one, f"{indent}  "))]


@pytest.mark.parametrize(("statement", "tree"), TREES, ids=[statement[:60] for statement, _ in TREES])
def test_the_tree_of_a_statement(analyst, statement, tree):
    lines = tree.strip("\n").rstrip().split("\n")
    expected = "\n".join(line[8:] for line in lines)
    assert drawn(bound(statement, analyst)) == expected


@pytest.mark.parametrize("statement", [statement for statement, _ in TREES], ids=lambda s: s[:60])
def test_spark_agrees_about_every_edge(analyst, statement):
    """Every expression in a tree, asked over the columns that it is computed from, has the type it should have."""
    query = bound(statement, analyst)

    def ask(columns, expressions, where=None):
        condition = f" WHERE {where}" if where else ""
        items = ", ".join(f"{sql} AS _{place}" for place, sql in enumerate(expressions))
        sql = f"SELECT {items} FROM {view_name('edge')}{condition}"
        return list(analyst.describe(sql, {"edge": columns}).types)

    for node in query.root.walk():
        names = [column.name.lower() for column in node.columns]
        assert len(names) == len(set(names)) > 0
        if isinstance(node, Compute):
            assert ask(node.of.types, [sql for _, sql in node.items], node.where) == [
                c.type for c in node.columns
            ]
        if isinstance(node, Join):
            assert not node.left.types.keys() & node.right.types.keys()
            assert all(node.left.types[left] == node.right.types[right] for left, right in node.keys)
            assert set(node.kept) <= node.left.types.keys() | node.right.types.keys()
            if node.condition:
                assert pat.is_boolean(ask(node.left.types | node.right.types, [node.condition])[0])
        if isinstance(node, Union):
            assert len({tuple(one.types.items()) for one in node.inputs}) == 1
        if isinstance(node, Distinct):
            assert set(node.names) <= node.of.types.keys()
        if isinstance(node, Group):
            assert {*node.keys, *(name for _, name in node.values)} <= node.of.types.keys()
        if isinstance(node, Rows):
            _check_read(analyst, query.reads[node.port], node)
    answers = query.root.types | query.time_columns
    if query.outputs:
        assert ask(answers, [o.expression for o in query.outputs], query.having) == [
            o.type for o in query.outputs
        ]
    assert all(o.answer is None or answers[o.answer] == o.type for o in query.outputs)


def _check_read(analyst, read, leaf):
    assert isinstance(read, SelectQuery)
    assert read.stream.name == leaf.stream
    assert [(o.name, o.type) for o in read.outputs] == list(leaf.types.items())
    columns = {name: read.stream.columns[name] for name in read.scan.columns} | {
        "_windrow_instant": pa.int64()
    }
    relations = {read.stream.name: columns, "people": RELATIONS["people"].columns}
    items = ", ".join(f"{o.answer} AS _{place}" for place, o in enumerate(read.outputs))
    joins = "".join(f" {one.join}" for one in read.enrichments)
    where = f" WHERE {read.where}" if read.where else ""
    sql = f"SELECT {items} FROM {view_name(read.stream.name)} AS `{read.stream.name}`{joins}{where}"
    assert list(analyst.describe(sql, relations).types) == [o.type for o in read.outputs]


@pytest.mark.parametrize("statement", SLICED, ids=lambda s: s[:60])
def test_what_slices_can_answer_has_no_other_operators(analyst, statement):
    assert isinstance(bound(statement, analyst), AggregateQuery)


def test_a_sub_query_that_only_selects_does_not_change_what_slices_compute(analyst):
    plain = bound(
        "SELECT upper(city) AS u, SUM(cost * 2) AS s FROM calls S WHERE cost > 5 GROUP BY 1", analyst
    )
    nested = bound(
        "SELECT u, SUM(d) AS s FROM (SELECT upper(city) AS u, cost * 2 AS d FROM calls S c WHERE cost > 5) GROUP BY u",
        analyst,
    )
    assert nested == plain
    assert nested.scan.columns == plain.scan.columns


@pytest.mark.parametrize(
    ("statement", "problem", "underlined", "hint"), REFUSED, ids=[r[0][:60] for r in REFUSED]
)
def test_refusals_say_what_where_and_what_to_do(analyst, statement, problem, underlined, hint):
    with pytest.raises(StatementError) as caught:
        bound(statement, analyst)
    error = caught.value
    assert problem in error.problem
    assert error.text[error.start : error.end] == windows(underlined)
    assert hint in error.hint


def test_a_statement_with_those_of_the_queries_that_it_selects_from(analyst):
    """It needs no names of queries: what is kept is bound to the same plan."""
    for text in [*(statement for statement, _ in TREES), "SELECT src FROM dear WHERE twice < 9"]:
        query = asked(text)
        (kept,) = parse(query.select_sql)
        assert query.text == windows(text)
        assert bind(kept, RELATIONS, analyst) == bind(query, RELATIONS, analyst)


def test_a_stream_and_a_name_of_with_go_before_a_query():
    (query,) = parse("WITH dear AS (SELECT src FROM calls) SELECT src FROM dear")
    assert with_named_queries(query, ["Calls"], lambda name: f"SELECT {name} FROM texts") is query


def test_rows_of_rows_without_a_window(analyst):
    """They are those of the stream, whatever is between."""
    nested = bound(
        "SELECT twice AS t, name FROM (SELECT * FROM dear WHERE twice < 50) JOIN people USING (src)", analyst
    )
    plain = bound(
        "SELECT cost * 2 AS t, name FROM calls JOIN people USING (src) WHERE cost > 5 AND (cost * 2) < 50",
        analyst,
    )
    assert isinstance(nested, SelectQuery)
    assert (nested.scan, nested.where, nested.outputs) == (plain.scan, plain.where, plain.outputs)


def test_windows_over_results_are_full_later(analyst):
    query = bound("SELECT MAX(n) AS m FROM minutes [RANGE 1 DAY SLIDE 1 HOUR]", analyst)
    minute, day = 60_000_000, 86_400_000_000
    assert (query.longest, query.range) == (day + minute, day)
    joined = bound("SELECT m.n FROM minutes [RANGE 2 MINUTES] m, calls W c WHERE m.city = c.city", analyst)
    assert (joined.longest, joined.range) == (60 * minute, None)


def test_a_join_without_an_equality_is_warned_of(analyst):
    assert bound("SELECT a.src FROM calls W a, texts W b WHERE a.cost > b.size", analyst).warnings == (
        "b is joined with a without an equality: every row meets every other",
    )
    looked_for = "SELECT src FROM calls W a WHERE EXISTS (SELECT 1 FROM texts W b WHERE size > cost)"
    assert bound(looked_for, analyst).warnings == (
        "b is looked for without an equality: every row meets every other",
    )
    assert not bound("SELECT a.src FROM calls W a, texts W b WHERE a.src = b.src", analyst).warnings


def test_what_results_say_of_their_time(analyst):
    def times(sql):
        return list(bound(sql, analyst).time_columns)

    assert times("SELECT src FROM calls W") == ["_op", "_ts", "_exp"]
    assert times("SELECT ISTREAM src FROM calls W") == ["_ts"]
    assert times("SELECT src FROM calls S") == ["window_start", "window_end"]
    two = "SELECT a.src FROM calls S a, calls [RANGE 2 HOURS SLIDE 1 MINUTE] b WHERE a.src = b.src"
    assert times(two) == ["window_end"]


def test_how_results_end(analyst):
    def ends(sql):
        return bound(sql, analyst).pattern

    join = "SELECT a.src FROM calls {} a, texts {} b WHERE a.src = b.src"
    both = (W, "[RANGE 1 HOUR INTERNAL]")
    assert [ends(join.format(one, other)) for one in both for other in both] == [
        UpdatePattern.WEAK, UpdatePattern.WEAK, UpdatePattern.WEAK, UpdatePattern.MONOTONIC,
    ]  # fmt: skip
    union = "SELECT src FROM calls W UNION ALL SELECT src FROM texts {}"
    assert ends(union.format(W)) is UpdatePattern.WEAKEST
    assert ends(union.format("[NOW]")) is UpdatePattern.WEAK
    assert ends("SELECT COUNT(*) AS n FROM calls W") is UpdatePattern.STRICT
    assert ends("SELECT COUNT(*) AS n FROM calls [RANGE 1 HOUR INTERNAL]") is UpdatePattern.MONOTONIC


def test_a_star_keeps_the_columns_that_it_had(analyst):
    had = ["_op", "_ts", "_exp", "src", "ts"]
    assert [o.name for o in bound("SELECT * FROM calls W", analyst, had).outputs] == ["src", "ts"]
    union = "SELECT * FROM calls W UNION ALL SELECT * FROM abroad W"
    relations = RELATIONS | {"abroad": replace(RELATIONS["abroad"], zone=None)}
    (query,) = parse(windows(union))
    assert [o.name for o in bind(query, relations, analyst, FUNCTIONS, had).outputs] == ["src", "ts"]


def test_trees_are_bound_again_at_each_start(analyst):
    (query,) = parse(windows("SELECT a.src FROM calls W a, texts W b WHERE a.src = b.src"))
    plan = bind(query, RELATIONS, analyst)
    assert PlanRecords(RELATIONS.get, "").write(query, plan) is None
