"""Users' own aggregates: the answers are those of pandas, in batch, in micro-batches, across restarts."""

from __future__ import annotations

import collections
import math
import random
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import windrow
from tests.harness.micro_batches import feeding

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "k": pa.string(),
        "x": pa.float64(),
        "y": pa.float64(),
        "w": pa.string(),
    }
)


class HarmonicMean(windrow.OwnAggregate):
    state = ("count", "inverses")

    def lift(self, x):
        return 1, 1 / x

    def combine(self, a, b):
        return a[0] + b[0], a[1] + b[1]

    def lower(self, s):
        return s[0] / s[1]


class Slope(windrow.OwnAggregate):
    """Of the line through points; a vertical one, or none, is NULL."""

    state = ("n", "x", "y", "xx", "xy")

    def lift(self, x, y):
        return 1, x, y, x * x, x * y

    def combine(self, a, b):
        return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]

    def lower(self, s):
        n, x, y, xx, xy = s
        spread = n * xx - x * x
        return np.ma.masked_array(n * xy - x * y, mask=spread <= 1e-9) / np.where(spread > 1e-9, spread, 1)


class LastMinusFirst(windrow.OwnAggregate):
    state = ("first", "last")
    commutative = False

    def lift(self, x):
        return x, x

    def combine(self, a, b):
        return a[0], b[1]

    def lower(self, s):
        return s[1] - s[0]


class Path(windrow.OwnAggregate):
    """Words in stream order: the strictest judge of it."""

    state = object
    commutative = False
    result = "STRING"

    def lift(self, word):
        return word

    def combine(self, a, b):
        return a + b

    def lower(self, s):
        return s


class Distinct(windrow.OwnAggregate):
    state = object
    result = "INT"

    def lift(self, word):
        return {word}

    def combine(self, a, b):
        return a | b

    def lower(self, s):
        return len(s)

    def pack(self, s):
        return "|".join(sorted(s)).encode()

    def unpack(self, packed):
        return set(packed.decode().split("|"))


class Histogram(windrow.OwnAggregate):
    state = object
    exact = True
    result = "MAP<STRING, BIGINT>"

    def lift(self, word):
        return collections.Counter([word])

    def combine(self, a, b):
        return a + b

    def inverse(self, a, b):
        return a - b

    def lower(self, s):
        return sorted(s.items())


class Clipped(windrow.OwnAggregate):
    """A parameter, a state of one integer, an inverse."""

    state = int
    result = "BIGINT"

    def __init__(self, most):
        self.most = most

    def lift(self, x):
        return np.minimum(x, self.most).astype(int)

    def combine(self, a, b):
        return a + b

    def inverse(self, a, b):
        return a - b

    def lower(self, s):
        return s


class Interpreted(HarmonicMean):
    def combine(self, a, b):
        return tuple(sum(pair) for pair in zip(a, b, strict=True))


FUNCTIONS = {
    "harmonic_mean": HarmonicMean,
    "slope": Slope,
    "last_minus_first": LastMinusFirst,
    "path": Path,
    "distincts": Distinct,
    "histogram": Histogram,
    "clipped": Clipped(3),
    "interpreted": Interpreted,
}
CALLS = {
    "h": "harmonic_mean(x)", "i": "interpreted(x)", "f": "harmonic_mean(x) FILTER (WHERE y > 0)",
    "s": "slope(x, y)", "l": "last_minus_first(y)", "p": "path(w)", "d": "distincts(w)",
    "g": "histogram(w)", "c": "clipped(x)", "n": "COUNT(*)", "m": "MAX(y)",
}  # fmt: skip
OF_KEYS = {name: sql for name, sql in CALLS.items() if name in "hlpgn"}
UNORDERED = {name: sql for name, sql in CALLS.items() if name not in "lp"}


def recomputed(rows):
    """What each call gives for the rows of one window and key, in stream order."""
    x, y, w = rows["x"].dropna(), rows["y"].dropna(), rows["w"].dropna()
    both = rows.dropna(subset=["x", "y"])
    filtered = rows[rows["y"] > 0]["x"].dropna()
    spread = len(both) * (both["x"] ** 2).sum() - both["x"].sum() ** 2 if len(both) else 0

    def harmonic(values):
        return len(values) / (1 / values).sum() if len(values) else None

    return {
        "h": harmonic(x),
        "i": harmonic(x),
        "f": harmonic(filtered),
        "s": np.polyfit(both["x"], both["y"], 1)[0] if spread > 1e-9 else None,
        "l": y.iloc[-1] - y.iloc[0] if len(y) else None,
        "p": w.sum() if len(w) else None,
        "d": w.nunique() if len(w) else None,
        "g": dict(collections.Counter(w)) if len(w) else None,
        "c": int(np.minimum(x, 3).astype(int).sum()) if len(x) else None,
        "n": len(rows),
        "m": y.max() if len(y) else None,
    }


def data(rng, count, first, last):
    def maybe(value):
        return rng.choice([None, value, value, value])

    return [
        {
            "ts": EPOCH + timedelta(seconds=rng.randrange(first, last)),
            "k": rng.choice("ab"),
            "x": maybe(rng.choice([1.0, 2.0, 2.5, 4.0, 8.0])),
            "y": maybe(float(rng.randrange(-9, 9))),
            "w": maybe(rng.choice(["u", "v", "ww"])),
        }
        for _ in range(count)
    ]


def in_stream_order(batches, ties):
    """By event time, then epoch, then the columns in use, NULLs first."""
    rows = pd.DataFrame([{**row, "batch": n} for n, batch in enumerate(batches) for row in batch])
    return rows.sort_values(["ts", "batch", *ties], na_position="first", kind="stable").reset_index(drop=True)


def windows_of(rows, length, slide):
    for end in range(-30 * slide, 400, slide):
        until, since = (pd.Timestamp(EPOCH) + timedelta(seconds=s) for s in (end, end - length))
        inside = rows[(rows["ts"] >= since) & (rows["ts"] < until)]
        for key, group in inside.groupby("k"):
            yield (end, key), recomputed(group)


def assert_same(got, expected, calls=CALLS):
    assert got.keys() == expected.keys()
    for place, answers in got.items():
        for name in calls:
            a, b = answers[name], expected[place][name]
            close = isinstance(a, float) and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
            assert a == b or close, f"{name} at {place}: {a!r}, pandas says {b!r}"


def frame(spark, rows):
    return spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA))


def statement(window, calls=CALLS, more=""):
    items = ", ".join(f"{sql} AS {name}" for name, sql in calls.items())
    return f"SELECT k, {items} FROM events {window} {more} GROUP BY k"


def register(engine):
    for name, own in FUNCTIONS.items():
        engine.aggregate(name, own)


def by_end(rows):
    found = {}
    for row in rows:
        place = (int(row["window_end"].replace(tzinfo=row["window_end"].tzinfo or UTC).timestamp()), row["k"])
        assert place not in found
        answers = dict(row) if not hasattr(row, "asDict") else row.asDict()
        found[place] = {n: dict(v) if isinstance(v, list) else v for n, v in answers.items()}
    return found


def test_micro_batches_that_overlap_in_time_and_restarts_equal_pandas(spark, tmp_path):
    """Rows out of order within the delay; each batch is a new engine on the same home."""
    rng = random.Random(5)
    batches = [data(rng, 60, 25 * n, 25 * n + 40) for n in range(3)]
    tables = []
    for number, batch in enumerate(batches):
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.stream("events", frame(spark, []), timestamp="ts", delay="60 seconds")
        register(engine)
        engine.query("time", statement("[RANGE 20 S SLIDE 7 S]"), sink=lambda epoch, t: tables.append(t))
        with feeding(engine, "events") as feed:
            fed = feed.batch(frame(spark, batch), number)
            assert fed.passes["time"] == 2
            if number == 2:
                feed.seal()
        assert not fed.failed
    got = by_end([row for table in tables for row in table.to_pylist()])
    rows = in_stream_order(batches, ["k", "x", "y", "w"])
    assert_same(got, dict(windows_of(rows, 20, 7)))
    assert len(got) == 30


def test_a_bounded_run_of_every_kind_of_window_and_sliding(spark):
    rng = random.Random(8)
    rows = data(rng, 250, -30, 90)
    df = frame(spark, rows)
    ordered = in_stream_order([rows], ["k", "x", "y", "w"])
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", df, timestamp="ts")
        register(engine)
        engine.query("time", statement("[RANGE 20 S SLIDE 10 S]", UNORDERED, "WHERE w IS NULL OR w <> 'v'"))
        engine.query("keys", statement("[PARTITION BY k ROWS 12 SLIDE 5]", OF_KEYS))
        engine.query("rows", statement("[ROWS 30 SLIDE 40]", OF_KEYS))
        inverted = {name: CALLS[name] for name in "cgn"}
        hinted = statement("[RANGE 30 S SLIDE 3 S]", inverted)
        engine.query("inverted", hinted.replace("SELECT", "SELECT /*+ FINAL(subtract_on_evict) */"))
        plan = engine.explain()
        assert (
            "final: subtract_on_evict for clipped (its combine and inverse are compiled; as the hint" in plan
        )
        assert "final: subtract_on_evict for histogram (its states are Python objects; as the hint" in plan
        assert "over events (for Python)\n" in plan
        assert "lift HARMONIC_MEAN(x), INTERPRETED(x), HARMONIC_MEAN(x) FILTER (WHERE y > 0)" in plan
        assert "for harmonic_mean (its combine is compiled; " in plan
        assert "for clipped (its combine and inverse are compiled; " in plan
        assert "for interpreted (its combine is interpreted: Numba cannot compile it (" in plan
        assert "for histogram (its states are Python objects; " in plan
        engine.run()
        time = by_end(engine.results("time").collect())
        assert_same(time, dict(windows_of(ordered[ordered["w"] != "v"], 20, 10)), UNORDERED)
        assert_same(by_end(engine.results("inverted").collect()), dict(windows_of(ordered, 30, 3)), inverted)
        keys = {(r.window_row, r.k): r.asDict() for r in engine.results("keys").collect()}
        expected = {}
        for key, group in ordered.groupby("k"):
            for row in range(5, len(group) + 1, 5):
                expected[row, key] = recomputed(group.iloc[max(0, row - 12) : row])
        assert_same(keys, expected, OF_KEYS)
        of_all = {(r.window_row, r.k): r.asDict() for r in engine.results("rows").collect()}
        expected = {
            (row, key): recomputed(group)
            for row in range(40, len(ordered) + 1, 40)
            for key, group in ordered.iloc[row - 30 : row].groupby("k")
        }
        assert_same(of_all, expected, OF_KEYS)
    aggs = {
        "h": (HarmonicMean, "x"), "s": (Slope, ("x", "y")), "l": (LastMinusFirst, "y"), "p": (Path, "w"),
        "g": (Histogram, "w"), "c": (Clipped(3), "x"), "n": ("count", "*"), "m": ("max", "y"),
    }  # fmt: skip
    sliding = windrow.sliding(df, "ts", keys=["k"], windows=[("20 seconds", "10 seconds")], aggs=aggs)
    assert_same(by_end(sliding.collect()), dict(windows_of(ordered, 20, 10)), aggs)


def test_sliding_over_a_stream_and_decimals(spark, tmp_path):
    rows = spark.range(40).selectExpr("timestamp_seconds(id) AS ts", "CAST(id + 1 AS DECIMAL(9, 2)) AS m")
    rows.coalesce(1).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "in"))
    aggs = {"h": (HarmonicMean, "m"), "c": (Clipped(3), "m"), "e": (Clipped(5), "m")}
    sliding = windrow.sliding(stream, "ts", windows=[("20 seconds", "20 seconds")], aggs=aggs)
    sliding.run(tmp_path / "home", seal=True)
    got = sliding.results().orderBy("window_end").collect()
    assert [(row.c, row.e) for row in got] == [(57, 90), (60, 100)]
    assert [row.h for row in got] == pytest.approx(
        [20 / sum(1 / i for i in range(n, n + 20)) for n in (1, 21)]
    )


def test_partitioned_windows_go_on_after_a_restart(spark, tmp_path):
    """Compiled states and objects, in the state that is kept whole."""
    rng = random.Random(2)
    batches = [data(rng, 50, 50 * n, 50 * n + 50) for n in range(2)]
    got = {}
    for number, batch in enumerate(batches):
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.stream("events", frame(spark, []), timestamp="ts")
        register(engine)
        sink = lambda epoch, t: got.update({(r["window_row"], r["k"]): r for r in t.to_pylist()})  # noqa: E731
        engine.query("keys", statement("[PARTITION BY k ROWS 20 SLIDE 3]", OF_KEYS), sink=sink)
        with feeding(engine, "events") as feed:
            assert not feed.batch(frame(spark, batch), number).failed
            if batch is batches[-1]:
                feed.seal()
    ordered = in_stream_order(batches, ["k", "x", "y", "w"])
    expected = {
        (row, key): recomputed(group.iloc[max(0, row - 20) : row])
        for key, group in ordered.groupby("k")
        for row in range(3, len(group) + 1, 3)
    }
    for answers in got.values():
        answers["g"] = answers["g"] and dict(answers["g"])
    assert_same(got, expected, OF_KEYS)


# what goes wrong


def broken(**methods):
    return type("Broken", (HarmonicMean,), methods)


def lift_fails(self, x):
    if np.any(x > 40):
        raise ValueError("too large")
    return 1, x


def combine_fails(self, a, b):
    if b[1] > 40:
        raise ValueError("too large")
    return a[0] + b[0], a[1] + b[1]


def interpreted_fails(self, a, b):
    if b[1] > 40:
        raise ValueError(f"too large: {b}")
    return a[0] + b[0], a[1] + b[1]


def lower_fails(self, s):
    raise KeyError("nothing there")


def lift_exits(self, x):
    if np.any(x > 40):
        sys.exit("too large")
    return 1, x


def plain(self, x):
    return 1, x


FAILURES = {
    "lift": (broken(lift=lift_fails), "LIFT: lift raised ValueError: too large, given 41.0"),
    "compiled": (broken(lift=plain, combine=combine_fails), "COMPILED: combine raised ValueError: too large"),
    "interpreted": (
        broken(lift=plain, combine=interpreted_fails),
        r"INTERPRETED: combine raised ValueError: too large: .*, given \(\d+.0, \d+.0\) and \(1.0, \d+.0\)",
    ),
    "lower": (broken(lower=lower_fails), "LOWER: lower raised KeyError: 'nothing there'"),
    "exit": (broken(lift=lift_exits), "EXIT: lift raised SystemExit: too large, given 41.0"),
    "leave": (broken(lower=lambda self, s: sys.exit()), "LEAVE: lower raised SystemExit"),
    "few": (broken(lift=lambda self, x: (x,)), r"FEW: lift returned .* not a tuple of 2: count, inverses"),
    "short": (
        broken(lift=lambda self, x: (1, x[1:])),
        r"SHORT: lift returned an array of shape \(49,\) for inverses, from 50 rows",
    ),
    "text": (
        broken(lift=lambda self, x: (1, x.astype(str))),
        "TEXT: lift returned <U32 for inverses, not numbers",
    ),
    "shape": (
        broken(lower=lambda self, s: 1.0),
        r"SHAPE: lower returned 1.0 for \d+ windows?; it is given arrays",
    ),
    "type": (broken(result="INT"), r"TYPE: lower returned \d+\.\d+, which does not fit in its result, INT"),
}


def test_a_function_that_fails_is_named_and_the_others_are_answered(spark):
    df = spark.range(50).selectExpr("timestamp_seconds(id) AS ts", "CAST(id AS DOUBLE) + 1 AS x")
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", df, timestamp="ts")
        for name, (own, _) in FAILURES.items():
            engine.aggregate(f"own_{name}", own)
            engine.query(name, f"SELECT own_{name}(x) AS a FROM events [RANGE 100 S SLIDE 50 S]")
        engine.query("good", "SELECT COUNT(x) AS n FROM events [RANGE 100 S SLIDE 50 S]")
        with pytest.raises(
            windrow.QueryFailed, match=r"they are quarantined; the others are answered \(good\)"
        ):
            engine.run(seal=True)
        told = {query.name: query.quarantined for query in engine.status().queries}
        for name, (_, why) in FAILURES.items():
            assert pd.Series([told[name]]).str.contains(f"^OWN_{why}").all(), told[name]
        assert [row.n for row in engine.results("good").collect()] == [50, 50]


@pytest.mark.parametrize(
    ("name", "own", "problem"),
    [
        ("sum", HarmonicMean, "'sum' is an aggregate of Windrow's"),
        ("Mean", HarmonicMean, "'Mean' is an aggregate of Windrow's"),
        ("upper", HarmonicMean, "'upper' is a function of Spark SQL"),
        ("no name", HarmonicMean, "registered under a name, such as 'harmonic_mean', not 'no name'"),
        ("select", HarmonicMean, "'select' is a function of Spark SQL"),
        ("harmonic", 3, "an aggregate is a class of windrow.OwnAggregate, not 3"),
        ("harmonic", dict, "an aggregate is a class of windrow.OwnAggregate, not dict"),
        ("harmonic", type("Empty", (windrow.OwnAggregate,), {}), "has no lift, no combine, no lower"),
        ("harmonic", broken(state=()), r"the state of Broken is names of numbers, such as"),
        ("harmonic", broken(state=("a", "a")), "has a name twice"),
        ("harmonic", broken(kind=str), "the kind of Broken is float or int, not <class 'str'>"),
        ("harmonic", broken(result="NUMBER"), "the result of Broken, 'NUMBER', is no type of Spark SQL"),
        ("harmonic", broken(result=None), 'is a Spark SQL type, such as "DOUBLE", not None'),
        ("harmonic", broken(combine=lambda self, a: a), "combine of Broken takes self and 2 states"),
        ("harmonic", broken(lift=lambda self: 1), "lift of Broken takes self and the value of each argument"),
        ("harmonic", broken(pack=lambda self, s: b""), "needs both pack and unpack"),
        ("harmonic", Clipped, r"Clipped\(\) raised TypeError: .*; if it needs arguments, give an instance"),
    ],
)
def test_what_cannot_be_registered(engine, name, own, problem):
    with pytest.raises(windrow.WindrowError, match=problem):
        engine.aggregate(name, own)


@pytest.fixture(scope="module")
def engine(spark):
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", frame(spark, []), timestamp="ts")
        engine.aggregate("harmonic_mean", HarmonicMean)
        engine.aggregate("slope", Slope)
        yield engine


def test_registering_again(engine):
    engine.aggregate("HARMONIC_MEAN", HarmonicMean)
    with pytest.raises(
        windrow.WindrowError, match="there is an aggregate 'harmonic_mean' already: HarmonicMean"
    ):
        engine.aggregate("harmonic_mean", Slope)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("slope(x)", "SLOPE over a window takes 2 arguments"),
        ("harmonic_mean(DISTINCT x)", "DISTINCT has no meaning in HARMONIC_MEAN"),
        ("harmonc_mean(x)", "did you mean harmonic_mean?"),
        (
            "nothing_like_it(x)",
            r"register an aggregate of your own with eng.aggregate\('nothing_like_it', …\)",
        ),
        ("harmonic_mean(SUM(x))", "an aggregate inside HARMONIC_MEAN has no meaning"),
    ],
)
def test_calls_that_are_refused(engine, call, problem):
    with pytest.raises(windrow.StatementError, match=problem):
        engine.query("q", f"SELECT {call} AS a FROM events [RANGE 1 S SLIDE 1 S]")


def test_a_home_whose_query_uses_a_function_that_is_not_there(spark, tmp_path):
    """Nothing runs, nothing is lost; with the function, all goes on as if nothing had been."""
    from tests.streams import Files, assert_answers, engine_on, events, same_events

    files = Files(spark, tmp_path / "in")
    files.add(0, 20)
    first = engine_on(files, tmp_path / "home")
    first.aggregate("harmonic_mean", HarmonicMean)
    first.query("own", "SELECT harmonic_mean(2 + v) AS h FROM events [RANGE 10 S SLIDE 5 S]")
    first.run(seal=False)
    first.close()
    files.add(20, 40)
    with windrow.Engine(tmp_path / "home", spark=spark) as without:
        told = r"query 'own', which cannot go on: unknown function 'harmonic_mean'(.|\n)*eng.aggregate"
        with pytest.raises(windrow.HomeError, match=told):
            without.run(seal=False)
        assert without.results("q").count() > 0
        assert without.progress("events").rows == 200
    with windrow.Engine(tmp_path / "home", spark=spark) as again:
        again.aggregate("harmonic_mean", HarmonicMean)
        again.run(seal=True)
        assert_answers(again, same_events(0, 40))
        v = events(spark, 0, 40).toPandas()["v"]
        for row in again.results("own").collect():
            end = int(row.window_end.replace(tzinfo=UTC).timestamp()) * 10
            inside = 2 + v[max(0, end - 100) : end]
            assert math.isclose(row.h, len(inside) / (1 / inside).sum(), rel_tol=1e-9)


def test_a_state_that_has_changed_is_not_taken_for_the_old_one(spark, tmp_path):
    from tests.streams import Files

    files = Files(spark, tmp_path / "in")
    for number, state in enumerate([("count", "inverses"), ("inverses", "count")]):
        files.add(20 * number, 20 * number + 20)
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.stream("events", files.path, timestamp="ts")
        engine.aggregate("harmonic_mean", broken(state=state))
        engine.query("own", "SELECT harmonic_mean(v) AS h FROM events [RANGE 10 S SLIDE 5 S]")
        if number == 0:
            engine.run(seal=False)
    with pytest.raises(
        windrow.QueryFailed, match=r"its state was kept otherwise: .*drop the query and register"
    ):
        engine.run(seal=False)
