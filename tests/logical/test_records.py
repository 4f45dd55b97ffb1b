"""Plans at rest: what is read back is what was bound, or nothing at all."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace

import pyarrow as pa
import pytest

from tests.api import test_aggregates, test_same_answers, test_sketches
from windrow import OwnAggregate
from windrow.aggregates import FUNCTIONS, own_function
from windrow.aggregates.own.call import function_for_queries
from windrow.cql import parse
from windrow.logical import PlanRecords, Stream, Table, bind, surroundings
from windrow.logical.types_at_rest import type_from_json, type_to_json
from windrow.planner import Bounds, plan_passes
from windrow.runtime.spark.analysis import SparkAnalyst, arrow_schema

pytestmark = pytest.mark.usefixtures("interpreted")

W = "[RANGE 1 HOUR SLIDE 5 MINUTES]"
FLIGHTS = "ts TIMESTAMP, origin STRING, dep_delay DOUBLE, carrier STRING, `odd name` INT, `ti``ck` INT, s STRUCT<a: INT>"
HOLISTIC = {
    **{f"different_{c}": f"COUNT(DISTINCT {c})" for c in ("i", "l", "d", "f", "m", "s", "day", "t", "b")},
    "pairs": "COUNT(DISTINCT n, s)", "some": "COUNT(DISTINCT s) FILTER (WHERE i > 0)",
    "sum_i": "SUM(DISTINCT n)", "sum_m": "SUM(DISTINCT m)", "sum_d": "SUM(DISTINCT d)",
    "avg_i": "AVG(DISTINCT i)", "avg_m": "AVG(DISTINCT m)", "least": "MIN(DISTINCT s)",
    "median_d": "MEDIAN(d)", "median_m": "MEDIAN(m) FILTER (WHERE b)", "low": "PERCENTILE(l, 0.1)",
    "many": "PERCENTILE(i, ARRAY(0.25, 0.5, 0.9))", "mode_s": "MODE(s)", "mode_n": "MODE(n)",
}  # fmt: skip
LISTED = {
    "list_i": "COLLECT_LIST(i)", "list_s": "ARRAY_AGG(s)", "text": "STRING_AGG(s, ' | ')", "plain": "LISTAGG(s)",
    "set_s": "COLLECT_SET(s)", "top_s": "TOP_K(s, 2)", "few": "COLLECT_LIST(n) FILTER (WHERE b)",
}  # fmt: skip
CALLS = (
    test_same_answers.AGGREGATES,
    test_aggregates.CALLS,
    HOLISTIC,
    LISTED,
    test_sketches.MINE | test_sketches.PERCENTILES,
)


def every(calls, window="RANGE 90 SECONDS SLIDE 1 MINUTE OFFSET 7 SECONDS"):
    listed = ", ".join(f"{call} AS {name}" for name, call in calls.items())
    return f"SELECT k, {listed} FROM events [{window}] GROUP BY k"


STATEMENTS = [
    *map(every, CALLS),
    *(every(calls, "ROWS 100 SLIDE 7") for calls in CALLS),
    *(every(calls, "PARTITION BY k ROWS 100 SLIDE 7") for calls in CALLS[:2]),
    f"SELECT FREQUENT_ITEMS(s, 5) AS f, TOP_K(m, 2) AS t, STRING_AGG(s, '\\'\\n\\\\ é') AS a FROM events {W}",
    f"SELECT PERCENTILE(d, 1) AS one, PERCENTILE(d, 1.0) AS same, PERCENTILE(d, array(0, 0.5)) AS two FROM events {W}",
    f"SELECT COLLECT_LIST(struct(i, map(s, m))) AS l, COUNT(array(t)) AS c FROM events {W}",
    f"SELECT VAR_POP(i) AS v, KURTOSIS(i) AS k, VAR_POP(l) AS w FROM events {W}",
    f"SELECT EXTRACT(HOUR FROM ts) AS h, COUNT(*) AS n FROM events {W} GROUP BY 1",
    "SELECT ts, s, i * 2L AS twice, struct(i, s) AS both FROM events WHERE i > 0 OR s IS NULL",
    "SELECT * FROM flights",
    f"SELECT f.origin AS o, ROUND(AVG(dep_delay), 2) AS r FROM flights {W} AS f WHERE dep_delay > 0 GROUP BY ORIGIN",
    f"SELECT date_trunc('HOUR', ts) AS h, upper(origin), COUNT(*) FROM flights {W} GROUP BY h, upper(origin)",
    f"SELECT a.name, COUNT(1) FROM flights {W} f LEFT JOIN airlines a ON f.carrier = a.carrier GROUP BY 1",
    f"SELECT COUNT(*) AS n FROM flights {W} JOIN airlines b ON coalesce(b.name, ', x') = origin JOIN airlines c ON true",
    f"SELECT COUNT(*) AS n FROM flights {W} INNER JOIN airlines ON flights.carrier = airlines.carrier",
    f"SELECT COUNT(*) AS n FROM flights {W}, airlines WHERE flights.carrier = airlines.carrier",
    f"SELECT COUNT(*) AS n FROM flights {W} CROSS JOIN airlines",
    f"SELECT window_end AS e, COUNT(*) AS n, window_start FROM flights {W} HAVING window_end > TIMESTAMP '2000-01-01'",
    f"SELECT origin FROM flights {W} GROUP BY origin",
    f"SELECT COUNT(*) AS n FROM flights {W} WHERE origin = 'today' AND ts > 'epoch' AND origin IN ('now', 'yesterday')",
    f"SELECT COUNT(*) AS epoch, MAX(ts) AS ts, MAX(origin) AS _file FROM flights {W}",
    f"SELECT origin AS o, COUNT(*) AS n FROM flights {W} GROUP BY o HAVING n + 1 > 3 AND o <> 'x'",
    f"SELECT SUM(`odd name`) AS `odd\nsum`, MAX(`ti``ck`) AS `ti``ck`, MAX(s.a) AS a FROM flights {W}",
    f"SELECT MAX(aggregate(transform(array(1, 2), x -> x + 1), 0, (a, b) -> a + b)) AS m FROM flights {W}",
    f"SELECT SUM(TRY_CAST(origin AS INT)) AS t, SUM(CAST(dep_delay AS INT)) AS c FROM flights {W}",
    f"SELECT /*+ FINAL(two_stacks) */ MAX(dep_delay) AS m FROM flights {W}",
    "SELECT /*+ FINAL(flat_fat) */ COUNT(*) AS n FROM flights [PARTITION BY origin ROWS 9 SLIDE 1] GROUP BY origin",
    "SELECT window_row AS r, MAX(origin) AS m FROM flights [ROWS 5 SLIDE 3] HAVING window_row > 10",
    "SELECT carrier, Origin, COUNT(*) FROM flights [PARTITION BY origin, f.carrier ROWS 5 SLIDE 3] f GROUP BY 1, 2",
    "SELECT upper(origin) AS o FROM flights [PARTITION BY UPPER(origin) ROWS 5 SLIDE 3] GROUP BY o",
]  # fmt: skip


class Longest(OwnAggregate):
    state = float

    def lift(self, x):
        return x

    def combine(self, a, b):
        return max(a, b)

    def lower(self, s):
        return s


@pytest.fixture(scope="module")
def relations(spark):
    columns = {field.name: field.type for field in arrow_schema(spark.createDataFrame([], FLIGHTS).schema)}
    events = {field.name: field.type for field in test_same_answers.SCHEMA}
    return {
        "flights": Stream("flights", columns, "ts"),
        "events": Stream("events", events, "ts", zone="Asia/Tokyo"),
        "airlines": Table("airlines", {"carrier": pa.string(), "name": pa.string()}),
    }


@pytest.fixture(scope="module")
def analyst(spark):
    return SparkAnalyst(spark)


@pytest.fixture(scope="module")
def around(analyst):
    return surroundings(analyst.settings)


@pytest.fixture(scope="module")
def bound(relations, analyst):
    """Every statement with its plan, by its text."""
    queries = [query for statement in STATEMENTS for query in parse(statement)]
    return {query.select_sql: (query, bind(query, relations, analyst)) for query in queries}


@pytest.fixture(scope="module")
def written(bound, relations, around):
    records = PlanRecords(relations.get, around)
    return {sql: records.write(query, plan) for sql, (query, plan) in bound.items()}


@pytest.fixture
def fresh(relations, around):
    """A reader that has read nothing, over the relations there are, or others in place of some."""

    def make(*others, surroundings=around):
        return PlanRecords((relations | {other.name: other for other in others}).get, surroundings)

    return make


@pytest.fixture
def one(bound, written):
    """A statement with a bit of everything, its plan and its record."""
    sql = next(sql for sql in bound if "LEFT JOIN" in sql)
    return sql, bound[sql][1], written[sql]


def everything(value):
    """All fields of a plan, also those that take no part in comparisons."""
    if isinstance(value, Stream):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value), *(everything(getattr(value, field.name)) for field in fields(value)))
    if isinstance(value, tuple | list):
        return (type(value), *map(everything, value))
    return value


def sealed(records, sql, lines):
    """A record by somebody who knows how to make a seal."""
    sources = records._sources(lines[0])
    return "\n".join(["0" if sources is None else records._seal(sql, sources, lines), *lines])


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement[:70])
def test_what_is_read_back_is_what_was_bound(bound, written, fresh, relations, statement):
    (sql,) = (query.select_sql for query in parse(statement))
    _, plan = bound[sql]
    again = fresh().read(sql, written[sql])
    assert again == plan
    assert everything(again) == everything(plan)
    assert again.stream is relations[plan.stream.name]
    assert again.steps() == plan.steps()
    passes, expected = (plan_passes({"q": each}) for each in (again, plan))
    assert [shared.sql(Bounds()) for shared in passes] == [shared.sql(Bounds()) for shared in expected]


def test_the_statements_call_every_function_there_is(bound):
    assert {item.function for _, plan in bound.values() for item in plan.aggregates} == FUNCTIONS.keys()


def test_one_reader_reads_them_all_and_they_share_as_before(bound, written, fresh):
    reader = fresh()
    again = {sql: reader.read(sql, record) for sql, record in written.items()}
    plans = {sql: plan for sql, (_, plan) in bound.items()}
    assert again == plans
    passes, expected = (plan_passes(each) for each in (again, plans))
    assert [shared.sql(Bounds()) for shared in passes] == [shared.sql(Bounds()) for shared in expected]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT MAX(longest(dep_delay)) AS m FROM flights W",  # a function of the user's in Spark
        "SELECT LONGEST(dep_delay) AS m FROM flights W",  # an aggregate of the user's
        "SELECT COUNT(*) AS n FROM flights W WHERE origin = 'select'",
        "SELECT COUNT(*) AS n FROM flights W WHERE origin = '${env:HOME}'",
    ],
)
def test_statements_that_are_always_bound(spark, relations, around, statement):
    (query,) = parse(statement.replace(" W", f" {W}", 1))
    functions = dict(FUNCTIONS)
    if "LONGEST" in statement:
        functions["longest"] = function_for_queries(own_function("longest", Longest))
    spark.udf.register("longest", lambda x: x, "double")
    try:
        plan = bind(query, relations, SparkAnalyst(spark), functions)
    finally:
        spark.sql("DROP TEMPORARY FUNCTION longest")
    assert PlanRecords(relations.get, around).write(query, plan) is None


# what has changed since


def test_a_record_holds_while_nothing_that_binding_looks_at_changes(one, fresh, relations):
    sql, plan, record = one
    flights = relations["flights"]
    grown = replace(flights, columns=flights.columns | {"gate": pa.string()}, delay=7)
    again = fresh(grown).read(sql, record)
    assert again == plan
    assert again.stream is grown


@pytest.mark.parametrize(
    "change",
    [
        lambda stream, table: [replace(stream, columns=stream.columns | {"carrier": pa.int64()})],
        lambda stream, table: [
            replace(stream, columns=stream.columns | {"name": pa.int64()})
        ],  # who has `name`?
        lambda stream, table: [replace(stream, columns=dict(reversed(stream.columns.items())))],
        lambda stream, table: [replace(stream, columns={"ts": stream.time_type})],
        lambda stream, table: [replace(stream, zone="Asia/Tokyo")],
        lambda stream, table: [replace(table, columns=table.columns | {"name": pa.int64()})],
        lambda stream, table: [replace(table, columns={"carrier": pa.string()})],
        lambda stream, table: [replace(stream, name="airlines")],
        lambda stream, table: [Table("flights", stream.columns)],
    ],
)
def test_a_record_does_not_hold_for_other_relations(one, fresh, relations, change):
    sql, _, record = one
    assert fresh(*change(relations["flights"], relations["airlines"])).read(sql, record) is None


def test_a_new_column_with_the_name_of_an_alias_is_looked_at(bound, written, fresh, relations):
    sql = next(sql for sql in bound if "GROUP BY o HAVING" in sql)
    events = relations["flights"]
    other = replace(events, columns=events.columns | {"O": pa.string()})
    assert fresh().read(sql, written[sql]) is not None
    assert fresh(other).read(sql, written[sql]) is None


def test_the_columns_that_a_star_stood_for_are_looked_at(written, fresh, relations):
    """Also those with odd names; the star of a record stands for no others, so that others may come."""
    sql, flights = "SELECT * FROM flights", relations["flights"]
    for name in flights.columns:
        other = replace(flights, columns=flights.columns | {name: pa.date32()})
        assert fresh(other).read(sql, written[sql]) is None
    more = replace(flights, columns={"before": pa.date32(), **flights.columns, "behind": pa.date32()})
    again = fresh(more).read(sql, written[sql])
    assert [output.name for output in again.outputs] == list(flights.columns)


def test_a_record_does_not_hold_for_another_statement_spark_or_relation_that_is_away(one, fresh, around):
    sql, _, record = one
    assert fresh().read(sql.replace("a.name", "a.carrier"), record) is None
    assert fresh(surroundings="another Spark").read(sql, record) is None
    assert PlanRecords(lambda name: None, around).read(sql, record) is None


def test_settings_of_the_session_are_looked_at(spark, analyst, around):
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", before == "false")
    try:
        analyst.look_again()
        assert surroundings(analyst.settings) != around
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
        analyst.look_again()


def test_what_is_wrong_with_a_relation_is_told(one, around):
    def missing(name):
        raise FileNotFoundError(name)

    with pytest.raises(FileNotFoundError, match="flights"):
        PlanRecords(missing, around).read(one[0], one[2])


# damage, and worse


def test_any_damage_is_found(one, fresh):
    sql, _, record = one
    reader, lines = fresh(), record.split("\n")
    damaged = [record + "\n", record + " ", " " + record, "", "\n" * 7, "[]", "\ud800", record + "\nnull"]
    damaged += ["\n".join(lines[:n] + lines[n + 1 :]) for n in range(len(lines))]
    damaged += [record[:n] + ("1" if record[n] != "1" else "2") + record[n + 1 :] for n in range(len(record))]
    damaged += [record[:n] for n in range(len(record))]
    assert [text for text in damaged if reader.read(sql, text) is not None] == []


def replaced(value, other):
    """Every way to put another value somewhere into a JSON value."""
    yield other
    for place, item in enumerate(value) if isinstance(value, list) else ():
        for inner in replaced(item, other):
            yield [*value[:place], inner, *value[place + 1 :]]
        yield [*value[:place], *value[place + 1 :]]


@pytest.mark.parametrize(
    "other", [None, -1, 0.5, "x", "int64", True, [], [[]], {}, {"a": 1}, ["decimal", 99, 1]], ids=repr
)
def test_nonsense_under_a_seal_raises_nothing(bound, written, fresh, other):
    reader = fresh()
    for sql in [sql for sql in bound if "FINAL(flat" in sql or "LEFT" in sql or "PERCENTILE(d, 1)" in sql]:
        lines = written[sql].split("\n")[1:]
        for place, line in enumerate(lines):
            for changed in replaced(json.loads(line), other):
                damaged = [*lines[:place], json.dumps(changed), *lines[place + 1 :]]
                reader.read(sql, sealed(reader, sql, damaged))


def test_deep_nonsense_under_a_seal_raises_nothing(one, fresh):
    sql, _, record = one
    reader, (_, *lines) = fresh(), record.split("\n")
    for place in range(len(lines)):
        deep = "[" * 100_000 + "]" * 100_000
        assert reader.read(sql, sealed(reader, sql, [*lines[:place], deep, *lines[place + 1 :]])) is None


@pytest.mark.parametrize(
    "sql",
    [
        "reflect('java.lang.System', 'exit', 1) = ''",
        "`Java_Method`('java.lang.System', 'exit', 1) = ''",
        "builtin.try_reflect('java.lang.System', 'exit', 1) = ''",
        "IDENTIFIER('ref' || 'lect')('java.lang.System', 'exit', 1) = ''",
        "1 IN (SELECT 1 FROM `some.Class`.`x`)",
        "1 IN (\nſelect 1)",
        "1 IN (TABLE `some.Class`.`x`)",
        "1 IN (MAP 1 USING 'program')",
        "EXTRACT(TABLE FROM ts) = 1",
        "${env:SECRET} = 1",
    ],
)
def test_a_seal_makes_no_code_of_a_record(bound, written, fresh, sql):
    reader = fresh()
    select = next(each for each in bound if "LEFT JOIN" in each)
    (_, sources, *lines) = written[select].split("\n")
    spoken = json.dumps(sql, ensure_ascii=False)
    counted = f'[["count",[{spoken}],[],false,false,null,["int32"],"int64"]]'
    joined = sources.replace("`flights`.`carrier` = `a`.`carrier`", spoken[1:-1])
    assert joined != sources
    for damaged in (
        [joined, *lines],
        [sources, spoken, *lines[1:]],
        [sources, *lines[:2], f'[[{spoken},"bool"]]', *lines[3:]],
        [sources, *lines[:3], counted, *lines[4:]],
        [sources, *lines[:4], f'[["n",{spoken},"bool",null]]', lines[5]],
        [sources, *lines[:5], f"[{spoken},null]"],
    ):
        assert reader.read(select, sealed(reader, select, damaged)) is None
    assert reader.read(select, sealed(reader, select, [sources, *lines])) is not None


@pytest.mark.parametrize(
    "join",
    [
        "JOIN `some.Class`.`x` AS `a` ON true",
        "JOIN `_windrow_airlines` AS `a` ON true, `some.Class`.`x`",
        "JOIN `_windrow_airlines` AS `a` ON true LATERAL VIEW explode(array(1))",
        "JOIN `_windrow_airlines` AS `a` JOIN `some.Class`.`x`",
        "LEFT JOIN `_windrow_flights` AS `a` ON true",
    ],
)
def test_a_seal_brings_in_no_other_relation(one, fresh, join):
    sql, _, record = one
    reader, (_, sources, *lines) = fresh(), record.split("\n")
    name, columns, _ = json.loads(sources)
    damaged = [json.dumps([name, columns, [["airlines", join]]]), *lines]
    assert reader.read(sql, sealed(reader, sql, damaged)) is None


# types


def test_types_of_spark_are_read_back_as_they_are(spark):
    schema = (
        "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(38, 18), i STRING, "
        "j BINARY, k DATE, l TIMESTAMP, m TIMESTAMP_NTZ, n INTERVAL DAY TO SECOND, o ARRAY<DECIMAL(3, 1)>, "
        "p MAP<STRING, ARRAY<TIMESTAMP>>, q STRUCT<`x y`: INT NOT NULL, z: STRUCT<a: MAP<INT, DATE>>>, r VOID"
    )
    types = arrow_schema(spark.createDataFrame([], schema).schema).types
    types.append(pa.struct([pa.field("x", pa.int8(), metadata={"variant": "true"})]))
    for of_type in types:
        again = type_from_json(json.loads(json.dumps(type_to_json(of_type))))
        assert again.equals(of_type, check_metadata=True)


def test_a_type_that_would_not_be_read_back_is_not_written():
    for of_type in (pa.uint8(), pa.dictionary(pa.int8(), pa.string()), pa.decimal256(50, 1), pa.float16()):
        with pytest.raises(ValueError, match="record of type"):
            type_to_json(of_type)
