"""Every aggregate of fixed width: Spark judges those it has and plain Python all of them, rows in hand."""

from __future__ import annotations

import itertools
import math
import operator
import random
import re
from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import windrow
from tests.api.test_same_answers import EPOCH, SCHEMA, SECOND, frame, rows, split_late, statement, windows
from tests.examples import examples
from tests.harness.micro_batches import feeding
from tests.oracle import assert_same_answers, native, same, weights
from windrow.slicing import Window

pytestmark = pytest.mark.usefixtures("interpreted")  # some sixty aggregates in a statement

MICROSECOND = timedelta(microseconds=1)

# What plain Python makes of the rows of a window; each has its place in the order of the stream. An answer is
# a value, or a float and the weight that it may differ by 1e-9 of.


def given_values(rows, x):
    return [value for value in map(x, rows) if value is not None]


def ordered(value):
    """NULL is the least and NaN the greatest."""
    return (0, 0) if value is None else (2, 0) if value != value else (1, value)


def as_float(exact):
    try:
        return float(exact)
    except OverflowError:
        return -math.inf if exact < 0 else math.inf


def product(x):
    def answer(rows):
        values = given_values(rows, x)
        if not values:
            return None
        if not all(map(math.isfinite, values)):
            return math.prod(values), 0
        found = as_float(reduce(operator.mul, map(Fraction, values)))
        return found, abs(found)

    return answer


def geometric_mean(x):
    def answer(rows):
        values = given_values(rows, x)
        if not values:
            return None
        if any(value < 0 or value != value for value in values):
            return math.nan, 0
        if not all(map(math.isfinite, values)):
            return (math.nan if 0 in values else math.inf), 0
        found = math.exp(math.fsum(map(math.log, values)) / len(values)) if all(values) else 0.0
        return found, found

    return answer


def deviations(values):
    """From the mean; NaN for those of an infinity."""
    if not all(map(math.isfinite, values)):
        return [math.nan] * len(values)
    mean = float(sum(map(Fraction, values), Fraction(0)) / max(len(values), 1))
    return [value - mean for value in values]


def moment(x, power):
    def answer(rows):
        values = given_values(rows, x)
        spread = deviations(values)
        second = math.fsum(d * d for d in spread)
        if second == 0:
            return None
        scale = len(values) ** (power / 2 - 1) / second ** (power / 2)
        found = math.fsum(d**power for d in spread) * scale - (3 if power == 4 else 0)
        return found, math.fsum(abs(value) ** power for value in values) * scale

    return answer


def co_moment(x, y, kind):
    def answer(rows):
        pairs = [(x(row), y(row)) for row in rows if x(row) is not None and y(row) is not None]
        if len(pairs) < (1 if kind == "pop" else 2):
            return None
        dx, dy = (deviations(values) for values in zip(*pairs, strict=True))
        together = math.fsum(map(operator.mul, dx, dy))
        weight = math.sqrt(math.prod(math.fsum(v * v for v in values) for values in zip(*pairs, strict=True)))
        if math.isnan(math.fsum(dx) + math.fsum(dy)):
            together = math.nan
        if kind == "corr":
            squares = [math.fsum(d * d for d in spread) for spread in (dx, dy)]
            divisor = math.sqrt(math.prod(squares))
            return (together / divisor, weight / divisor) if all(squares) else None
        divisor = len(pairs) - (kind == "samp")
        return together / divisor, weight

    return answer


def by(choose, x, y):
    def answer(rows):
        held = [row for row in rows if y(row) is not None]
        return x(choose(held, key=lambda row: (ordered(y(row)), ordered(x(row))))) if held else None

    return answer


def end(choose, x, nulls=True):
    """Rows are in the order of the stream; those of one batch and instant are in that of the value."""

    def answer(rows):
        held = [row for row in rows if nulls or x(row) is not None]
        return x(choose(held, key=lambda row: (row["place"], ordered(x(row))))) if held else None

    return answer


def folded(function, x):
    def answer(rows):
        values = given_values(rows, x)
        return reduce(function, values) if values else None

    return answer


def extent(x):
    def answer(rows):
        values = given_values(rows, x)
        low, high = (choose(values, key=ordered, default=None) for choose in (min, max))
        return None if low is None else high - low

    return answer


def squares(x):
    def answer(rows):
        values = given_values(rows, x)
        return (math.fsum(v * v for v in values), math.fsum(v * v for v in values)) if values else None

    return answer


def counted(condition):
    return lambda rows: sum(bool(condition(row)) for row in rows)


def where(condition, answer):
    return lambda rows: answer([row for row in rows if condition(row)])


i, long, n, d, f = (operator.itemgetter(name) for name in ("i", "l", "n", "d", "f"))
m, s, day, t, b = (operator.itemgetter(name) for name in ("m", "s", "day", "t", "b"))


def binary(row):
    return None if s(row) is None else bytearray(s(row).encode())


def some_n(row):
    return n(row) is not None and n(row) > 0


# The call; what Spark calls it (None: it has no such function, or leaves ties to chance); what Python says.
AGGREGATES = {
    "product_n": ("PRODUCT(n)", None, product(n)),
    "product_i": ("PRODUCT(i)", None, product(i)),
    "product_d": ("PRODUCT(d)", None, product(d)),
    "product_f": ("PRODUCT(f) FILTER (WHERE n > 0)", None, where(some_n, product(f))),
    "geometric_f": ("GEOMETRIC_MEAN(f)", None, geometric_mean(f)),
    "geometric_d": ("GEOMETRIC_MEAN(abs(d))", None,
                    geometric_mean(lambda row: None if d(row) is None else abs(d(row)))),
    "squares": ("SUM_OF_SQUARES(d)", "SUM(d * d)", squares(d)),
    "range_l": ("RANGE(l)", "MAX(l) - MIN(l)", extent(long)),
    "range_n": ("RANGE(CAST(n AS TINYINT))", "MAX(CAST(n AS TINYINT)) - MIN(CAST(n AS TINYINT))", extent(n)),
    "range_f": ("RANGE(f)", "MAX(f) - MIN(f)", None),  # Python has no float of 32 bits
    "range_d": ("RANGE(d)", "MAX(d) - MIN(d)", extent(d)),
    "range_m": ("RANGE(m) FILTER (WHERE n > 0)", "MAX(IF(n > 0, m, NULL)) - MIN(IF(n > 0, m, NULL))",
                where(some_n, extent(m))),
    "range_day": ("RANGE(day)", "MAX(day) - MIN(day)", extent(day)),
    "range_t": ("RANGE(t)", "MAX(t) - MIN(t)", extent(t)),
    "covar": ("COVAR_POP(d, f)", "COVAR_POP({d}, f)", co_moment(d, f, "pop")),
    "covar_s": ("COVAR_SAMP(i, d) FILTER (WHERE n > 0)", "COVAR_SAMP(i, {d}) FILTER (WHERE n > 0)",
                where(some_n, co_moment(i, d, "samp"))),
    "corr": ("CORR(i, n)", "CORR(i, n)", co_moment(i, n, "corr")),
    "corr_d": ("CORR(d, f)", "CORR(d, f)", co_moment(d, f, "corr")),
    "skewness": ("SKEWNESS(i)", "SKEWNESS(i)", moment(i, 3)),
    "kurtosis": ("KURTOSIS(i)", "KURTOSIS(i)", moment(i, 4)),
    "skewness_d": ("SKEWNESS(d)", "SKEWNESS(d)", moment(d, 3)),
    # Thrice 0.1 by three is not 0.1: values that are all equal must not seem to differ.
    "corr_same": ("CORR(IF(n > 0, 0.1D, NULL), i)", "CORR(IF(n > 0, 0.1D, NULL), i)", lambda rows: None),
    "kurtosis_same": ("KURTOSIS(0.1D) FILTER (WHERE n > 0)", "KURTOSIS(0.1D) FILTER (WHERE n > 0)",
                   lambda rows: None),
    "variance": ("VAR_POP(d)", "VAR_POP(d)", None),
    "max_by_b": ("MAX_BY(s, b)", None, by(max, s, b)),
    "min_by_n": ("MIN_BY(d, n)", None, by(min, d, n)),
    "max_by_n": ("MAX_BY(m, n)", None, by(max, m, n)),
    "max_by_s": ("ARG_MAX(m, s)", None, by(max, m, s)),
    "min_by_m": ("MIN_BY(t, m)", None, by(min, t, m)),
    "max_by_day": ("MAX_BY(b, day)", None, by(max, b, day)),
    "min_by_d": ("ARG_MIN(l, d)", None, by(min, long, d)),
    "min_by_b": ("MIN_BY(s, b) FILTER (WHERE n > 0)", None, where(some_n, by(min, s, b))),
    "max_by_f": ("MAX_BY(CAST(s AS BINARY), f)", None, by(max, binary, f)),
    "min_by_s": ("MIN_BY(day, CAST(s AS BINARY))", None, by(min, day, binary)),
    "every": ("EVERY(b)", "EVERY(b)", folded(operator.and_, b)),
    "bool_and": ("BOOL_AND(i > 0) FILTER (WHERE n > 0)", "BOOL_AND(i > 0) FILTER (WHERE n > 0)",
                 where(some_n, folded(operator.and_, lambda row: None if i(row) is None else i(row) > 0))),
    "bool_or": ("BOOL_OR(b)", "BOOL_OR(b)", folded(operator.or_, b)),
    "any": ("ANY(b) FILTER (WHERE n > 0)", "ANY(b) FILTER (WHERE n > 0)", where(some_n, folded(operator.or_, b))),
    "some": ("SOME(s LIKE ANY ('a%', 'é'))", "SOME(s LIKE ANY ('a%', 'é'))", None),
    "bit_and": ("BIT_AND(l)", "BIT_AND(l)", folded(operator.and_, long)),
    "bit_or": ("BIT_OR(i)", "BIT_OR(i)", folded(operator.or_, i)),
    "bit_xor": ("BIT_XOR(l) FILTER (WHERE n > 0)", "BIT_XOR(l) FILTER (WHERE n > 0)",
                where(some_n, folded(operator.xor, long))),
    "bit_xor_n": ("BIT_XOR(CAST(n - 1 AS TINYINT))", "BIT_XOR(CAST(n - 1 AS TINYINT))",
                  folded(operator.xor, lambda row: None if n(row) is None else n(row) - 1)),
    "count_if": ("COUNT_IF(b)", "COUNT_IF(b)", counted(b)),
    "count_if_n": ("COUNT_IF(b) FILTER (WHERE n > 0)", "COUNT_IF(b) FILTER (WHERE n > 0)",
                   counted(lambda row: b(row) and some_n(row))),
    "first_d": ("FIRST(d)", None, end(min, d)),
    "first_m": ("FIRST(m) IGNORE NULLS", None, end(min, m, nulls=False)),
    "first_day": ("FIRST_VALUE(day) FILTER (WHERE n > 0)", None, where(some_n, end(min, day))),
    "any_value": ("ANY_VALUE(b)", None, end(min, b)),
    "last_s": ("LAST(s)", None, end(max, s)),
    "last_l": ("LAST(l, true)", None, end(max, long, nulls=False)),
    "last_t": ("LAST_VALUE(t) FILTER (WHERE n > 0) IGNORE NULLS", None,
               where(some_n, end(max, t, nulls=False))),
}  # fmt: skip
CALLS = {name: call for name, (call, _, _) in AGGREGATES.items()}
# With an infinity, Spark's covariance depends on the order of rows; a NaN it takes for what it is.
SPARKS = {
    name: sql.format(d="IF(abs(d) = double('inf'), double('nan'), d)")
    for name, (_, sql, _) in AGGREGATES.items()
    if sql is not None
}


def both_squares(x, y, condition="true"):
    pairs = f"FILTER (WHERE {x} IS NOT NULL AND {y} IS NOT NULL AND {condition})"
    return " * ".join(f"sum(double({a}) * {a}) {pairs}" for a in (x, y))


WEIGHTS = weights("d") | {
    "_covar": f"sqrt({both_squares('d', 'f')})",
    "_covar_s": f"sqrt({both_squares('i', 'd', 'n > 0')})",
    "_corr": f"sqrt(try_divide({both_squares('i', 'n')}, regr_sxx(i, n) * regr_syy(i, n)))",
    "_corr_d": f"sqrt(try_divide({both_squares('d', 'f')}, regr_sxx(d, f) * regr_syy(d, f)))",
    "_skewness": "try_divide(avg(pow(abs(double(i)), 3)), pow(var_pop(i), 1.5))",
    "_kurtosis": "try_divide(avg(pow(i, 4)), pow(var_pop(i), 2))",
    "_skewness_d": "try_divide(avg(pow(abs(d), 3)), pow(var_pop(d), 1.5))",
}
TOLERANCES = {name: f"_{name}" for name in AGGREGATES if f"_{name}" in WEIGHTS} | {
    "squares": "_squares_d",
    "variance": "_squares_d",
}


def assert_python_agrees(tables, groups, names=CALLS, what=""):
    """Each answer is what Python makes of the rows of its window; there is one for each group of rows."""
    answered = {}
    for row in itertools.chain.from_iterable(table.to_pylist() for table in tables):
        place = (row.get("window_row", row["window_end"]), row.get("k"))
        assert place not in answered, "a window was answered twice"
        answered[place] = row
    assert answered.keys() == groups.keys(), what
    for place, held in groups.items():
        for name in names:
            call, _, answer = AGGREGATES[name]
            if answer is None:
                continue
            found, expected = answered[place][name], answer(held)
            expected, weight = expected if isinstance(expected, tuple) else (expected, 0)
            if isinstance(expected, bytearray):
                expected = bytes(expected)
            assert same(found, expected, weight), f"{call}{what} at {place}: {found!r}, Python: {expected!r}"
    return len(answered)


def in_windows(batches, window, keys):
    """The rows of each window and key, from the definition."""
    groups = defaultdict(list)
    for number, row in ((number, row) for number, batch in enumerate(batches) for row in batch):
        instant = (row["ts"] - EPOCH) // MICROSECOND
        first = window.first_evaluation_after(instant)
        for e in range(first, instant + window.range + 1, window.slide):
            key = row["k"] if "k" in keys else None
            groups[EPOCH + e * MICROSECOND, key].append({**row, "place": (instant, number)})
    return groups


def dense(count):
    """Few values and event times, so that every kind of tie is there, and of NULL."""
    rng = random.Random(4)

    def one_of(*values):
        return rng.choice([None, *values])

    return [
        {
            "ts": EPOCH + timedelta(seconds=rng.randrange(12)),
            "k": one_of("a", "b"),
            "n": one_of(0, 1, 2),
            "i": one_of(-3, 1, 2, 7),
            "l": one_of(-1, 3, 7, 15),
            "d": one_of(-0.0, 0.5, 2.5, rng.choice([-7.0, math.nan, math.inf, 1e6])),
            "f": one_of(-1.5, 0.25, 3.0),
            "m": one_of(Decimal("-1.25"), Decimal("3.00")),
            "s": one_of("", "a", "é", "😀"),
            "day": one_of(date(1969, 12, 30), date(2024, 2, 29)),
            "t": one_of(EPOCH, EPOCH - timedelta(seconds=1.5)),
            "b": one_of(True, False),
        }
        for _ in range(count)
    ]


def collecting(engine, name, sql):
    tables = []
    engine.query(name, sql, sink=lambda epoch, table: tables.append(table))
    return tables


@settings(settings.get_profile("spark"), max_examples=examples(2))
@example(data=dense(80), window=Window(8 * SECOND, 2 * SECOND), keys=["k"])
@given(data=rows(), window=windows(), keys=st.sampled_from([[], ["k"]]))
def test_a_bounded_run_gives_the_answers_of_spark_and_of_python(spark, data, window, keys):
    df = frame(spark, data).cache()
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        tables = collecting(engine, "q", statement(window, keys, CALLS))
        engine.run()
        assert_python_agrees(tables, in_windows([data], window, keys))
        got = engine.results("q").select("window_start", "window_end", *keys, *SPARKS)
        assert_same_answers(got, native(df, window, keys, SPARKS | WEIGHTS), keys, TOLERANCES)
    df.unpersist()


def run_batch(spark, engine, batch, number, last):
    with feeding(engine, "events") as feed:
        feed.batch(frame(spark, batch), number)
        if last:
            feed.seal()


@settings(settings.get_profile("spark"), max_examples=examples(1))
@example(data=dense(80), window=Window(8 * SECOND, 2 * SECOND), keys=["k"], cuts=[25, 50], delay=1_000)
@example(data=dense(80), window=Window(5 * SECOND, 5 * SECOND), keys=[], cuts=[15, 40], delay=3)
@given(
    data=rows(),
    window=windows(),
    keys=st.sampled_from([[], ["k"]]),
    cuts=st.lists(st.integers(0, 60), max_size=3),
    delay=st.sampled_from([3, 1_000]),
)
def test_micro_batches_and_restarts_give_the_answers_of_python(
    spark, tmp_path_factory, data, window, keys, cuts, delay
):
    """Also which of two rows of one instant is the first: the one that came in the earlier batch."""
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    batches = [data[a:b] for a, b in itertools.pairwise(edges)]
    in_time, _ = split_late(batches, [None] * len(batches), timedelta(seconds=delay))
    kept = [[row for row in batch if any(row is one for one in in_time)] for batch in batches]
    home, tables = tmp_path_factory.mktemp("home"), []
    for number, batch in enumerate(batches):
        engine = windrow.Engine(home, spark=spark)
        engine.stream("events", frame(spark, []), timestamp="ts", delay=f"{delay} seconds")
        given = collecting(engine, "q", statement(window, keys, CALLS))
        run_batch(spark, engine, batch, number, last=number == len(batches) - 1)
        tables += given
    assert_python_agrees(tables, in_windows(kept, window, keys))


@settings(settings.get_profile("spark"), max_examples=examples(1))
@example(data=dense(60), window=Window(8 * SECOND, 2 * SECOND))
@given(data=rows(), window=windows().filter(lambda w: w.slide <= w.range))
def test_sliding_takes_functions_of_several_arguments(spark, data, window):
    window = Window.starting_at(window.range, window.slide, 0)
    plain = {name: call for name, call in CALLS.items() if "FILTER" not in call and "NULLS" not in call}
    aggs = {name: sliding_call(call) for name, call in plain.items()}
    got = windrow.sliding(
        frame(spark, data),
        "ts",
        keys=["k"],
        windows=[(f"{window.range} us", f"{window.slide} us")],
        aggs=aggs,
    )
    assert_python_agrees([got.toArrow()], in_windows([data], window, ["k"]), names=plain)


def sliding_call(call):
    """MAX_BY(s, b) as ("max_by", "s", "b"); LAST(l, true) has a constant."""
    function, inside = call[:-1].split("(", 1)
    arguments = [inside] if "(" in inside else inside.split(", ")
    return function.lower(), *(True if argument == "true" else argument for argument in arguments)


WINDOWS_OF_ROWS = {
    "all": ("ROWS 7 SLIDE 3", ""),
    "long": ("ROWS 40 SLIDE 10", ""),
    "groups": ("ROWS 9 SLIDE 4", "k"),
    "keys": ("PARTITION BY k ROWS 5 SLIDE 2", "k"),
}


def in_row_windows(batches, name):
    """The rows of each window and key that has some, from the definition."""
    window, group = WINDOWS_OF_ROWS[name]
    *_, size, _, slide = window.split()
    order = [column for column in SCHEMA.names if column != "ts" and (group or column != "k")]
    stream = sorted(
        ({**row, "batch": number} for number, batch in enumerate(batches) for row in batch),
        key=lambda row: (row["ts"], row["batch"], *(ordered(row[column]) for column in order)),
    )
    parts = defaultdict(list)
    for row in stream:
        parts[row["k"] if "PARTITION" in window else None].append(row)
    groups = defaultdict(list)
    for part in parts.values():
        for e in range(int(slide), len(part) + 1, int(slide)):
            for place in range(max(0, e - int(size)), e):
                row = part[place]
                groups[e, row["k"] if group else None].append({**row, "place": place})
    return groups


@settings(settings.get_profile("spark"), max_examples=examples(1))
@example(data=dense(120), cuts=[40, 80])
@given(data=rows(max_size=90), cuts=st.lists(st.integers(1, 80), max_size=2))
def test_windows_of_rows_give_the_answers_of_python(spark, tmp_path_factory, data, cuts):
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    batches = [data[a:b] for a, b in itertools.pairwise(edges)]
    home, tables = tmp_path_factory.mktemp("home"), defaultdict(list)
    for number, batch in enumerate(batches):
        engine = windrow.Engine(home, spark=spark)
        engine.stream("events", frame(spark, []), timestamp="ts", delay="1000 seconds")
        given = {
            name: collecting(engine, name, statement_of_rows(*WINDOWS_OF_ROWS[name]))
            for name in WINDOWS_OF_ROWS
        }
        run_batch(spark, engine, batch, number, last=number == len(batches) - 1)
        for name, some in given.items():
            tables[name] += some
    for name in WINDOWS_OF_ROWS:
        assert_python_agrees(tables[name], in_row_windows(batches, name), what=f" of {name}")


def statement_of_rows(window, group):
    items = ", ".join([*([group] if group else []), *(f"{call} AS {name}" for name, call in CALLS.items())])
    return f"SELECT {items} FROM events [{window}]{f' GROUP BY {group}' if group else ''}"


def test_variances_are_made_from_higher_moments_and_explain_says_what_is_shared(spark):
    calls = "STDDEV(d), VAR_POP(d), SKEWNESS(d), KURTOSIS(d), SUM(i), AVG(i), RANGE(l), MAX(l), CORR(d, i), "
    calls += "COVAR_POP(d, i), PRODUCT(i), GEOMETRIC_MEAN(i), VARIANCE(i)"
    with windrow.Engine() as engine:
        engine.stream("events", frame(spark, []), timestamp="ts")
        engine.query("q", f"SELECT {calls} FROM events [RANGE 1 HOUR SLIDE 1 MINUTE]")
        engine.query("alone", "SELECT SUM(i), FIRST(d) FROM events [RANGE 1 HOUR SLIDE 1 MINUTE]")
        lines = engine.explain().splitlines()
    (shares,) = (line for line in lines if "shares:" in line)
    x = "CAST(d AS DOUBLE)"
    assert (
        f"    shares: count({x}), avg({x}), var_pop({x}), skewness({x}), kurtosis({x}), max({x}) "
        "for STDDEV_SAMP(d), VAR_POP(d), SKEWNESS(d), KURTOSIS(d); sum(i) for SUM(i), AVG(i); "
    ) in shares
    assert "; max(l) for RANGE(l), MAX(l); " in shares
    assert "; count(i) for AVG(i), PRODUCT(i), GEOMETRIC_MEAN(i); " in shares
    assert " for CORR(d, i), COVAR_POP(d, i); " in shares
    assert "min(struct(instant AS key, d AS value))" in "".join(lines)
    (final,) = (line for line in lines if line.startswith("      final: "))
    assert re.search(r"\bmoments\b", final)  # VARIANCE(i): nothing higher is asked of i


@pytest.mark.parametrize(
    ("values", "call", "problem"),
    [
        ([-128, 127], "RANGE(CAST(v AS TINYINT))", "does not fit in int8"),
        ([-(2**62), 2**62], "RANGE(v)", "does not fit in int64"),
    ],
)
def test_a_range_that_does_not_fit_fails(spark, values, call, problem):
    df = spark.createDataFrame([(v,) for v in values], "v BIGINT").selectExpr(
        "timestamp_seconds(0) AS ts", "v"
    )
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", f"SELECT {call} FROM events [RANGE 1 HOUR SLIDE 1 HOUR]")
        with pytest.raises(windrow.QueryFailed, match=problem):
            engine.run()


def test_the_widest_decimals_lose_a_digit_as_in_spark_and_the_greatest_products_none(spark):
    values = ["99999999999999999.999999999999999999", "0.000000000000000005", "1"]
    df = spark.createDataFrame([(v,) for v in values], "v STRING").selectExpr(
        "timestamp_seconds(0) AS ts", "CAST(v AS DECIMAL(38, 18)) AS v", "IF(v = '1', 1e-300D, 1e200D) AS e"
    )
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", "SELECT RANGE(v) AS r, PRODUCT(e) AS p FROM events [RANGE 1 HOUR SLIDE 1 HOUR]")
        engine.run()
        got = engine.results("q").collect()[0]
    assert got.r == df.selectExpr("MAX(v) - MIN(v)").collect()[0][0]
    assert got.p == pytest.approx(1e100, rel=1e-12)
