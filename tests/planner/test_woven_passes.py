"""A woven pass hands every class what its own pass would have collected."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.examples import examples
from tests.harness.plans import plans_of
from windrow.planner import Bounds, Experience, Pass, Tally, WovenPass, plan_passes, share_passes
from windrow.planner.passes.pack import MOST_COPIES
from windrow.runtime.epochs.culprits import culprits
from windrow.runtime.spark.collect import collect
from windrow.slicing import Window

SECOND = 1_000_000
START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    {"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "n": pa.int32(), "m": pa.int32(), "v": pa.int64()}
)
KEYS = {
    "`e`.`k`": pa.string(),
    "`e`.`n`": pa.int32(),
    "`e`.`m`": pa.int32(),
    "`e`.`v` % 3": pa.int64(),
}
PREDICATES = [
    None, "`e`.`v` > 0", "`e`.`v` > 5", "`e`.`k` = 'a'", "`e`.`k` = 'a' OR `e`.`v` > 5",
    "`e`.`n` IS NULL", "NOT `e`.`n` = 1", "`e`.`m` + `e`.`n` > 2", "CAST(NULL AS BOOLEAN)", "false",
]  # fmt: skip
AGGREGATES = ["COUNT(*) AS rows", "SUM(v) AS total", "MAX(v) AS most", "MAX(k) AS last", "COUNT(n) AS some"]


def optional(values):
    return st.one_of(st.none(), values)


data = st.lists(
    st.fixed_dictionaries(
        {
            "ts": optional(st.integers(-300, 300).map(lambda tenths: START + timedelta(seconds=tenths / 10))),
            "k": optional(st.sampled_from("abc")),
            "n": optional(st.integers(0, 2)),
            "m": optional(st.integers(0, 2)),
            "v": optional(st.integers(-10, 10)),
        }
    ),
    min_size=1,
    max_size=80,
)
windows = st.builds(
    Window, st.integers(1, 40).map(SECOND.__mul__), st.sampled_from([1, 2, 5, 7, 60]).map(SECOND.__mul__)
)
classes = st.tuples(
    st.lists(st.sampled_from(list(KEYS)), max_size=3, unique=True).map(tuple),
    st.sampled_from(PREDICATES),
    st.integers(0, len(AGGREGATES)),
    windows,
)


@pytest.fixture(scope="module")
def plans(spark):
    """A bound query for each number of aggregates, to make others of."""
    with windrow.Engine() as engine:
        engine.stream("e", frame(spark, []), timestamp="ts")
        for count in range(len(AGGREGATES) + 1):
            items = ", ".join(["k", *AGGREGATES[:count]])
            engine.query(f"q{count}", f"SELECT {items} FROM e [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k")
        return list(plans_of(engine).values())


def frame(spark, rows):
    return spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA))


def variant(plans, keys, where, count, window):
    types = tuple(KEYS[key] for key in keys)
    return replace(plans[count], keys=keys, key_types=types, where=where, window=window)


def merged(table, keys, cuts):
    """One row a slice of these cuts and key, as a set."""
    starts = pa.array(cuts.slice_starts(table["_slice"].to_numpy()))
    merges = {"count": "sum", "sum": "sum", "max": "max"}
    values = [name for name in table.column_names if name not in ("_slice", *keys)]
    table = table.set_column(0, "_slice", starts)
    grouped = table.group_by(["_slice", *keys]).aggregate([(v, merges[v.partition("(")[0]]) for v in values])
    return sorted(map(repr, grouped.to_pylist()))


def assert_same_as_apart(spark, queries, rows, experience=None, bounds=None, every=1):
    df, bounds = frame(spark, rows).coalesce(1), bounds or Bounds(None, None)
    apart = {}
    tallies = set()
    alone = share_passes(dict(list(queries.items())[::every]))
    together = plan_passes(queries, experience or Experience())
    for shared in alone:
        table, tally = collect(shared, df, bounds, {})
        tallies.add(tally)
        expected = table.select([name for name in table.column_names if not name.startswith("_latest")])
        apart |= dict.fromkeys(shared.demands, (expected, shared))
    got = {}
    for shared in together:
        table, tally = collect(shared, df, bounds, {})
        tallies.add(tally)
        for names, own in shared.tables(table):
            for name in names:
                got.setdefault(name, []).append(own)
    assert got.keys() == queries.keys()
    # Rows are counted by passes that see them all; which may be none, where every query has a condition.
    assert len(tallies - {None}) == any(shared.sees_every_row for shared in (*alone, *together))
    for name, (expected, shared) in apart.items():
        keys, cuts = shared.demand.keys, shared.cuts
        columns = [c for c in expected.column_names if c not in ("_slice", *keys)]
        found = set()
        for table in got[name]:
            own = [column for column in table.column_names if column in columns]
            found.update(own)
            assert merged(table, keys, cuts) == merged(expected.select(["_slice", *keys, *own]), keys, cuts)
        partials = [p for item in queries[name].aggregates for p in item.partials]
        assert {e for p in partials for e in p.expressions} <= found


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(6))
@given(
    rows=data,
    chosen=st.lists(classes, min_size=2, max_size=12),
    scattered=st.booleans(),
    crowded=st.booleans(),
    watermark=st.sampled_from([None, int(START.timestamp() * 1e6)]),
)
def test_random_classes_get_what_their_own_passes_collect(
    spark, plans, rows, chosen, scattered, crowded, watermark
):
    queries = {f"q{i}": variant(plans, *one) for i, one in enumerate(chosen)}
    experience = Experience(
        frozenset(filter(None, PREDICATES)) if scattered else frozenset(),
        frozenset(frozenset(keys) for keys, *_ in chosen) if crowded else frozenset(),
    )
    assert_same_as_apart(spark, queries, rows, experience, Bounds(watermark, None))


MINUTE = Window(60 * SECOND, 60 * SECOND)


def test_more_predicates_than_a_word_has_bits(spark, plans):
    rows = [{"ts": START + timedelta(seconds=i), "k": "abc"[i % 3], "n": i % 2, "v": i} for i in range(150)]
    queries = {
        f"q{i}": variant(plans, key, f"`e`.`v` >= {i}", 3, MINUTE)
        for i in range(100)
        for key in (("`e`.`k`",), ("`e`.`n`",))[i % 2 :]
    }
    (woven,) = plan_passes(queries)
    assert len(woven.words) == 2
    assert_same_as_apart(spark, queries, rows, every=13)


def test_groupings_become_copies_and_coarser_ones_are_derived(plans):
    groupings = [(), ("`e`.`k`",), ("`e`.`n`", "`e`.`k`"), ("`e`.`m`",), ("`e`.`k`", "`e`.`n`")]
    queries = {
        f"q{i}{j}": variant(plans, keys, where, 2, MINUTE)
        for i, keys in enumerate(groupings)
        for j, where in enumerate(PREDICATES[:4])
    }
    (woven,) = plan_passes(queries)
    assert sorted(sorted(copy.keys) for copy in woven.copies) == [["`e`.`k`", "`e`.`n`"], ["`e`.`m`"]]
    assert sorted(len(copy.strands) for copy in woven.copies) == [4, 16]
    crowded = Experience(crowded=frozenset({frozenset({"`e`.`k`", "`e`.`n`"})}))
    (woven,) = plan_passes(queries, crowded)
    assert len(woven.copies) == 3  # those without keys are derived from the copy by k


def test_a_fine_window_does_not_cut_a_finer_grouping(plans):
    queries = {
        "fine": variant(plans, (), None, 2, Window(SECOND // 1000, SECOND // 1000)),
        "keyed": variant(plans, ("`e`.`k`",), None, 2, Window(3600 * SECOND, 60 * SECOND)),
    }
    (woven,) = plan_passes(queries)
    assert {len(copy.keys): str(copy.cuts.rate) for copy in woven.copies} == {0: "1/1000", 1: "1/60000000"}


def test_predicates_over_different_columns_are_told_apart_in_several_copies(plans):
    over = [f"`e`.`c{i}` > 0" for i in range(20)]
    queries = {sql: variant(plans, ("`e`.`k`",), sql, 2, MINUTE) for sql in over}
    (woven,) = plan_passes(queries)
    assert sorted(len(copy.predicates) for copy in woven.copies) == [2, 6, 6, 6]
    same = {f"q{i}": variant(plans, ("`e`.`k`",), f"`e`.`v` > {i}", 2, MINUTE) for i in range(20)}
    (woven,) = plan_passes(same)
    assert [len(copy.predicates) for copy in woven.copies] == [20]


def test_what_spark_must_sort_does_not_have_the_rest_sorted(plans):
    queries = {
        "hashed": variant(plans, ("`e`.`k`",), None, 3, MINUTE),
        "groups": variant(plans, ("`e`.`n`",), "`e`.`v` > 1", 0, MINUTE),
        "sorted": variant(plans, ("`e`.`n`",), "`e`.`v` > 1", 4, MINUTE),
        "both": variant(plans, ("`e`.`k`",), "`e`.`v` > 2", 4, MINUTE),
    }
    hashed, sorting = plan_passes(queries)
    assert set(hashed.demands) == set(queries)
    # The class of a query comes along: what its tree is handed must be cut alike.
    assert set(sorting.demands) == {"groups", "sorted", "both"}
    assert set(sorting.expressions) == {"max(`e`.`k`)"}


def test_one_class_has_its_plain_pass(plans):
    queries = {
        f"q{i}": variant(plans, ("`e`.`k`",), None, 4, Window((i + 1) * SECOND, SECOND)) for i in range(5)
    }
    (only,) = plan_passes(queries)
    assert isinstance(only, Pass)


def test_passes_are_no_wider_than_spark_takes_well(plans):
    queries = {
        f"q{i}": replace(
            variant(plans, (), f"`e`.`v` > {i % 7}", 3, MINUTE),
            keys=(f"`e`.`n` + {i}",),
            key_types=(pa.int32(),),
        )
        for i in range(100)
    }
    passes = plan_passes(queries)
    assert all(isinstance(shared, WovenPass) and len(shared.copies) <= MOST_COPIES for shared in passes)
    assert set().union(*(shared.demands for shared in passes)) == set(queries)


def test_a_pass_brings_no_more_to_the_driver_than_it_can_take(plans):
    queries = {
        f"q{i}": replace(
            variant(plans, (), None, 3, MINUTE), keys=(f"`e`.`n` + {i}",), key_types=(pa.int32(),)
        )
        for i in range(20)
    }
    for groups, passes in ((1_000, 1), (1_000_000, 5), (50_000_000, 20)):
        assert len(plan_passes(queries, Experience(groups=groups))) == passes


def test_passes_are_planned_otherwise_only_by_what_a_batch_has_shown(plans):
    queries = {f"q{i}": variant(plans, ("`e`.`k`",), f"`e`.`v` > {i}", 2, MINUTE) for i in range(8)}
    (woven,) = plan_passes(queries)
    cells = [0b1, 0b11, 0b101, 0b1001]
    quiet = pa.table({"_windrow_copy": [0] * 4, "_windrow_lineage": cells})
    first = woven.learned(quiet, Tally(None, 4, 0, 0), Experience())  # as many groups as rows, but few cells
    assert not first.scattered
    assert woven.learned(quiet, Tally(None, 4, 0, 0), first).plans_like(first)
    wild = pa.table({"_windrow_copy": [0] * 255, "_windrow_lineage": list(range(1, 256))})
    learned = woven.learned(wild, Tally(None, 300, 0, 0), first)
    assert not learned.plans_like(first)
    (again,) = plan_passes(queries, learned)
    assert sorted(len(copy.predicates) for copy in again.copies) == [2, 6]


def test_culprits_are_found_among_many():
    tried = []

    def run(queries):
        tried.append(len(queries))
        if {"q77", "q400"} & set(queries):
            raise windrow.QueryFailed("no")

    assert set(culprits([f"q{i}" for i in range(1000)], run)) == {"q77", "q400"}
    assert len(tried) < 45


def test_a_tally_is_of_rows_and_not_of_copies(spark, plans):
    rows = [{"ts": START + timedelta(seconds=i), "v": i} for i in range(10)]
    rows += [{"ts": None, "v": 1}] * 2
    queries = {
        f"q{key}": variant(plans, (key,), "`e`.`v` > 100", 2, MINUTE) for key in ("`e`.`k`", "`e`.`n`")
    }
    (woven,) = plan_passes(queries)
    watermark = int(START.timestamp() * 1e6) + 3 * SECOND
    _, tally = collect(woven, frame(spark, rows), Bounds(watermark, None), {})
    assert tally == Tally(watermark + 6 * SECOND, rows=12, late=3, dead=2)
