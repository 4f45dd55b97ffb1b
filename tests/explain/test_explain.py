"""What is said and drawn of a plan is the plan, and stays readable for thousands of queries."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache
from xml.etree import ElementTree

import matplotlib
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.harness.plans import plans_of
from windrow import explain as explaining
from windrow.errors import WindrowError
from windrow.explain import Explanation
from windrow.explain.overview import overview
from windrow.explain.picture.drawing import MARGIN, WIDTH, picture
from windrow.explain.sheet import width_of
from windrow.planner import plan_passes
from windrow.planner.draft import Asked
from windrow.planner.observed import Observed
from windrow.planner.plan import NOTHING, Edge, MemberPlan, OperatorPlan, OutputPlan
from windrow.planner.planning import plan
from windrow.planner.settings import Settings
from windrow.planner.sharing import Weaver, WindowSet
from windrow.slicing import Window

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
SCHEMA = pa.schema(
    {"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "n": pa.int64(), "v": pa.int64(), "x": pa.float64()}
)
AGGREGATES = ["COUNT(*) AS n", "MAX(v) AS m", "AVG(x) AS a"]
SLIDES = [1, 2, 5, 7, 10, 11, 13, 30, 60, 300, 900, 3600, 86400]
KEYS = ["`e`.`k`", "`e`.`n`", *(f"`e`.`v` % {i}" for i in range(2, 20))]
PREDICATES = [None, *(f"`e`.`v` > {i}" for i in range(19))]


@pytest.fixture(scope="module")
def plans(spark):
    """Bound queries, to make others of."""
    with windrow.Engine() as engine:
        engine.stream("e", spark.createDataFrame(SCHEMA.empty_table()), timestamp="ts")
        for count in range(1, len(AGGREGATES) + 1):
            items = ", ".join(["k", *AGGREGATES[:count]])
            engine.query(f"q{count}", f"SELECT {items} FROM e [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY k")
        engine.query("rows", "SELECT AVG(v) AS a FROM e [ROWS 100 SLIDE 10]")
        engine.query("middle", "SELECT k, MEDIAN(v) AS m FROM e [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY k")
        return plans_of(engine)


def planned(queries, running=NOTHING, rate=None, optimizer=None):
    """The plan of queries over the stream `e`, numbered in their order."""
    asked = [Asked(output) for output in outputs(queries).values()]
    return plan("e", asked, Observed(rate=rate), Settings(optimizer, nodes=1), running)


def outputs(queries):
    numbered = enumerate(queries.items(), start=1)
    return {name: OutputPlan(number, name, query, "schema") for number, (name, query) in numbered}


def explain(queries, **asked):
    """What is said of the plan of queries."""
    made = planned(queries, **asked) if queries else NOTHING
    return explaining.explain(made, costs=Settings().costs)


def variant(plans, window, keys=(), where=None, count=1):
    types = tuple(pa.string() if key == KEYS[0] else pa.int64() for key in keys)
    return replace(plans[f"q{count}"], window=window, keys=tuple(keys), key_types=types, where=where)


def many(plans, count, groupings, predicates, seed=1, own=False):
    """Random queries over so many groupings and predicates."""
    chance = random.Random(seed)
    queries = {}
    for i in range(count):
        slide = SLIDES[min(int(chance.paretovariate(0.6)) - 1, len(SLIDES) - 1)] * SECOND
        window = Window(chance.randint(1, 500) * chance.choice([slide, SECOND]), slide)
        keys = chance.choice([(), *((key,) for key in KEYS)][:groupings])
        queries[f"q{i}"] = variant(
            plans, window, keys, chance.choice(PREDICATES[:predicates]), chance.randint(1, 3)
        )
    if own:
        queries |= {name: plans[name] for name in ("rows", "middle")}
    return queries


def test_the_text_of_a_few_queries(plans):
    queries = {
        "hour": variant(plans, Window(HOUR, MINUTE), KEYS[:1], count=2),
        "day": variant(plans, Window(DAY, HOUR), KEYS[:1]),
        "odd": variant(plans, Window(DAY, 7 * MINUTE), (), "`e`.`v` > 3"),
        "rows": plans["rows"],
    }
    told, _, details = explain(queries).partition("pass 1 of")
    # Which algorithm suits a query alone depends on what was measured.
    told = re.sub(r"final: \w+ for add_integers\n", "final: … for add_integers\n", told)
    assert (
        told
        == """\
stream e: 4 queries (1 with a state of their own), 2 classes, 2 trees, 2 passes over each batch
  at 10,000 rows a second (assumed), 100 groups a slice (assumed); trees planned by max_share
  estimated: 0.065 % of a core, each query alone 0.18 % of a core: sharing saves 2.8 ×
  class 1: by k, all rows; 2 queries, 1 tree
    tree 1 (planned): 2 queries; RANGE 1 hour SLIDE 1 minute, RANGE 1 day SLIDE 1 hour
      composite slide 1 hour, 0.0167 edges a second; rows are cut into granules of 1 minute
      final: prefix for add_integers; searched_deque for greatest
      0.044 % of a core, each query alone 0.12 % of a core: sharing saves 2.8 ×
  class 2: ungrouped, where v > 3; 1 query, 1 tree
    tree 2 (planned): 1 query; RANGE 1 day SLIDE 7 minutes
      composite slide 7 minutes, 0.00476 edges a second; rows are cut into granules of 1 minute
      final: … for add_integers
      0.022 % of a core, each query alone 0.06 % of a core: sharing saves 2.8 ×
  prefix: it has an exact inverse: what came before a window is taken out, 2 operations
  searched_deque: it selects one of its values: a search among those that may still be an answer
  1 query with a state of its own (windows of rows): rows
"""
    )
    assert "  query hour\n    └ aggregate COUNT(*), MAX(v) by k over" in details
    assert details.count("final: in tree 1, with 1 other query\n") == 2


def test_coprime_slides_repeat_after_ages(plans):
    primes = [p for p in range(101, 1000) if all(p % d for d in range(2, 32))]
    queries = {f"q{p}": variant(plans, Window(3 * p * 1000, p * 1000)) for p in primes}
    told = explain(queries)
    assert re.search(r"composite slide about 10\^\d{3} years, (≈ )?[\d,]+ edges a second", told)
    assert re.search(r"composite slide about 10\^\d{3} years", told.to_svg())


def test_an_optimizer_that_ran_out_of_time_says_so(plans, monkeypatch):
    queries = {f"q{s}": variant(plans, Window(7 * s * SECOND + s, s * SECOND)) for s in range(7, 40)}
    asked = {"rate": 1e6, "optimizer": "weave_share"}
    assert "trees planned by weave_share\n" in explain(queries, **asked)
    monkeypatch.setattr("windrow.planner.sharing.weaver.ASKED_FOR", 0)
    assert "trees planned by weave_share (stopped at its deadline)\n" in explain(queries, **asked)


@settings(max_examples=15)
@given(
    count=st.integers(1, 60),
    groupings=st.integers(1, 5),
    predicates=st.integers(1, 4),
    seed=st.integers(0, 1 << 30),
    optimizer=st.sampled_from([None, "no_share", "max_share", "weave_share", "tri_weave"]),
    running=st.integers(0, 4),
)
def test_what_is_seen_is_the_plan(plans, count, groupings, predicates, seed, optimizer, running):
    """Every query is in one tree of its class; trees add up to classes and streams, costs included."""
    queries = many(plans, count, groupings, predicates, seed)
    at_first = overview(planned(queries, rate=1000.0, optimizer=optimizer))[0]
    there = dict(enumerate(([*tree.queries][::2] for tree in at_first.trees[:running]), start=7))
    known = outputs(queries)
    held = {n: {known[name].query: MemberPlan(known[name]) for name in names} for n, names in there.items()}
    operators = {number: OperatorPlan(number, (Edge("e"),), members) for number, members in held.items()}
    runs = replace(NOTHING, operators=operators, last_operator=100)
    (stream,) = overview(planned(queries, runs, 1000.0, optimizer), runs)
    assert stream.queries == count
    assert sorted(name for tree in stream.trees for name in tree.queries) == sorted(queries)
    assert len({tree.number for tree in stream.trees}) == len(stream.trees)
    for one in stream.classes:
        assert sorted(name for tree in one.trees for name in tree.queries) == sorted(one.queries)
        for tree in one.trees:
            asked = WindowSet.of([query.window for query in tree.queries.values()]).asked()
            assert tree.windows.asked() == asked
            assert tree.cuts is not None
            if tree.number in there:
                assert tree.runs
                assert {*there[tree.number]} <= {*tree.queries}
                assert tree.joining == len(tree.queries) - len(there[tree.number])
    assert sum(tree.runs for tree in stream.trees) == len(there)
    passes = {name for shared in stream.passes for name in stream.queries_of(shared)}
    assert passes == queries.keys()
    if not any(one.separate for one in stream.classes):
        assert len(stream.passes) == len(plan_passes(queries))
    if len(stream.classes) == 1:
        weaver = Weaver.of(1000.0, None, grouped=bool(stream.classes[0].keys), hint=optimizer)
        assert stream.cost == pytest.approx(weaver.cost([tree.woven for tree in stream.trees]))


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**5)), min_size=1, max_size=20),
    st.floats(0.1, 1e6),
    st.booleans(),
)
def test_alone_is_the_sum_of_each_alone(sizes, rate, grouped):
    weaver = Weaver.of(rate, 7.0, grouped=grouped, hint=None)
    windows = [Window(length * 1000, slide * 1000) for length, slide in sizes]
    each = sum(weaver.cost([weaver.model.tree([window])]) for window in windows)
    assert weaver.alone(WindowSet.of(windows)) == pytest.approx(each)


@pytest.fixture(scope="module")
def explained(plans):
    """The plan of random queries, made once."""
    return lru_cache(lambda *case: explain(many(plans, *case, seed=2, own=True)))


CASES = [(1, 1, 1), (3, 1, 1), (30, 3, 2), (300, 4, 9), (1000, 1, 1), (1000, 20, 20)]


@pytest.mark.parametrize(
    ("case", "most_lines"), [((30, 3, 2), 80), ((1000, 1, 1), 60), ((300, 4, 9), 220), ((1000, 20, 20), 120)]
)
def test_a_thousand_queries_are_told_in_a_few_screens(explained, case, most_lines):
    told = explained(*case)
    assert isinstance(told, Explanation)
    assert len(told.splitlines()) < most_lines
    assert max(map(len, told.splitlines())) < 600
    (stream,) = told.streams
    for one in stream.classes:
        assert f"{one.grouping}" in told
        assert one.where is None or one.where in told
    assert f"stream e: {case[0] + 2:,} queries (2 with a state of their own)" in told
    assert f"{len(stream.trees):,} tree" in told
    for drawn, most in ((told.to_svg(), 800_000), (told.to_html(), 1_200_000), (told.to_dot(), 60_000)):
        assert len(drawn) < most


@pytest.mark.parametrize("case", CASES, ids=str)
def test_texts_of_a_picture_stand_on_the_sheet_and_not_on_each_other(explained, case):
    assert_readable(picture(explained(*case).streams))


def test_small_classes_beside_a_large_one_are_drawn_without_labels(plans):
    small = {f"small{i}": variant(plans, Window(HOUR, (1 + i) * MINUTE), [key]) for i, key in enumerate(KEYS)}
    assert_readable(picture(explain(many(plans, 500, 1, 1) | small).streams))
    assert_readable(picture(explain(small | many(plans, 500, 1, 1)).streams))


def assert_readable(sheet):
    boxes = []
    for text in sheet.figure.texts:
        (x, y), size, words = text.get_position(), text.get_fontsize(), text.get_text()
        width = width_of(words, size)
        left = x - {"left": 0.0, "center": 0.5, "right": 1.0}[text.get_horizontalalignment()] * width
        boxes.append((left, y - 0.8 * size, left + width, y + 0.2 * size, words))
    for left, top, right, bottom, text in boxes:
        assert 0 <= left <= right <= WIDTH - MARGIN / 2, text
        assert 0 <= top <= bottom <= sheet.height, text
    for i, (left, top, right, bottom, text) in enumerate(boxes):
        for other_left, other_top, other_right, other_bottom, other in boxes[:i]:
            apart = right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
            assert apart, (text, other)


def assert_complete(xml):
    """Well-formed, and nothing is fetched from anywhere."""
    root = ElementTree.fromstring(xml.removeprefix("<!DOCTYPE html>"))
    for element in root.iter():
        assert element.tag.rpartition("}")[2] not in ("script", "link", "image", "img", "iframe", "use")
        assert not {name for name in element.attrib if "href" in name or "src" in name}
    assert not re.search(r"url\(|@import|://(?!www\.w3\.org/(2000/svg|1999/xhtml)\")", xml)
    return root


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pictures_are_complete_in_themselves(explained, case):
    told = explained(*case)
    root = assert_complete(told.to_svg())
    assert_complete(told.to_html())
    cell = assert_complete(told._repr_html_())
    assert [child.tag.rpartition("}")[2] for child in cell] == ["svg", "details"]
    assert "".join(cell.find("details/pre").itertext()) == told
    words = "\n".join(element.text or "" for element in root.iter())
    (stream,) = told.streams
    assert f"{len(stream.trees):,} tree" in words
    dots = sum(hint.text.startswith("RANGE") for hint in root.iter("{http://www.w3.org/2000/svg}title"))
    assert 0 < dots <= sum(len(tree.windows) for tree in stream.trees)
    assert told.to_svg() == explained(*case).to_svg()


def test_graphs_connect_what_they_declare(explained):
    for case in CASES:
        lines = explained(*case).to_dot().splitlines()
        declared = {line.split(" [")[0].strip() for line in lines if " [label=" in line}
        edges = [re.fullmatch(r"\s*(\w+) -> (\w+);", line) for line in lines if "->" in line]
        assert len(declared) > 3
        assert all(edge is not None and {*edge.groups()} <= declared for edge in edges)
        assert {edge[2] for edge in edges} == declared - {"s0"}


def test_any_names_can_be_drawn(plans, tmp_path):
    where = "`e`.`k` = '<b>&\"\\x00\x00\x1b$x$ 東'"
    told = explain({'a<b & "c" \x00': variant(plans, Window(HOUR, MINUTE), KEYS[:1], where)})
    assert_complete(told.to_svg())
    assert_complete(told.to_html())
    told.draw(tmp_path / "plan.png")
    assert '\\"' in told.to_dot()


def test_a_picture_is_the_same_whatever_else_is_drawn(plans, tmp_path):
    told = explain(many(plans, 5, 2, 2))
    told.draw(tmp_path / "before.png")
    before = told.to_svg()
    with matplotlib.rc_context(
        {"font.size": 40, "savefig.bbox": "tight", "svg.fonttype": "path", "text.usetex": True}
    ):
        told.draw(tmp_path / "after.png")
        assert told.to_svg() == before
    assert (tmp_path / "before.png").read_bytes() == (tmp_path / "after.png").read_bytes()


def test_only_those_who_draw_wait_for_matplotlib():
    program = "import sys, windrow.explain; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_pictures_of_nothing():
    told = explain({})
    assert told == "no queries"
    assert "no queries" in told.to_svg()
    assert_complete(told.to_html())
    assert told.to_dot().startswith("digraph")


def test_a_picture_is_drawn_as_its_name_ends(plans, tmp_path):
    told = explain(many(plans, 5, 2, 2))
    begins = {"html": b"<!DOCTYPE html>", "svg": b"<svg ", "dot": b"digraph", "PNG": b"\x89PNG"}
    for ending, first in begins.items():
        told.draw(tmp_path / f"plan.{ending}")
        assert (tmp_path / f"plan.{ending}").read_bytes().startswith(first)
    with pytest.raises(
        WindrowError, match=r"plan\.jpg ends in \.jpg; a picture is drawn to a file in \.html"
    ):
        told.draw(tmp_path / "plan.jpg")
    with pytest.raises(WindrowError, match="plan has no ending"):
        told.draw(tmp_path / "plan")
    with pytest.raises(WindrowError, match=r"cannot write .*plan\.svg: No such file"):
        told.draw(tmp_path / "missing" / "plan.svg")


def test_trees_that_run_are_shown_as_they_are(spark, tmp_path):
    """With the rate that was observed, and the queries that will join."""
    sql = "SELECT k, COUNT(*) AS n FROM e [RANGE {} SECONDS SLIDE {} SECONDS] GROUP BY k"
    (tmp_path / "in").mkdir()
    with windrow.Engine(tmp_path / "home", optimizer="no_share") as engine:
        engine.stream("e", tmp_path / "in", timestamp="ts", format="csv", schema="ts TIMESTAMP, k STRING")
        for length, slide in ((10, 5), (30, 15), (7, 7)):
            engine.query(f"q{length}", sql.format(length, slide))
        assert "trees planned by no_share" in engine.explain()
        for minute in range(4):
            rows = "".join(f"2024-01-01 00:{minute:02}:{second:02},a\n" for second in range(0, 60, 2))
            (tmp_path / "in" / f"{minute}.csv").write_text(rows)
            engine.run(seal=False)
    with windrow.Engine(tmp_path / "home") as later:
        told = later.explain()
        assert "at 0.5 rows a second (observed)" in told
        assert "trees running" in told
        assert told.count("(running): 1 query; ") == 3
        later.query("again", sql.format(30, 15))
        later.query("more", sql.format(60, 30))
        told = later.explain()
        assert "5 queries, 1 class, 3 trees" in told
        assert re.search(r"tree \d \(running\): [23] queries, [12] of them from the next epoch on", told)
