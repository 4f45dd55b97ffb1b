"""How the results on every edge of a tree of operators end: in the text of an explanation, in its picture, in its
graph."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import windrow

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("v", pa.int64())])
PAIRS = "SELECT a.k, COUNT(*) AS n FROM a [RANGE 5 SECONDS] JOIN b [NOW] ON a.k = b.k GROUP BY a.k HAVING COUNT(*) > 1"
STAYS = "SELECT a.v, b.v AS w FROM a [RANGE 5 SECONDS INTERNAL], b [RANGE 9 SECONDS INTERNAL]"


@pytest.fixture(scope="module")
def explained(spark):
    with windrow.Engine(spark=spark) as engine:
        for name in ("a", "b"):
            engine.stream(name, spark.createDataFrame(SCHEMA.empty_table()), timestamp="ts")
        engine.query("pairs", PAIRS)
        engine.query("stays", STAYS)
        yield engine.explain()


def test_the_text_says_how_the_rows_of_each_operator_end(explained):
    lines = [line.strip() for line in str(explained).splitlines()]
    assert "└ aggregate COUNT(*) by a.k, at every change: strict" in lines
    assert "└ join on a.k = b.k: weak" in lines
    assert {"└ a [RANGE 5 SECONDS]: weakest", "└ b [NOW]: weakest"} <= {*lines}
    assert "results: strict, by _ts; they are taken back by rows with _op = -1" in lines
    assert "results: monotonic, by _ts; they never end" in lines
    assert "warning: b is joined with a without an equality: every row meets every other" in lines


def test_the_picture_draws_a_tree_once_whichever_streams_it_reads(explained):
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", explained.to_svg())
    assert texts.count("pairs") == texts.count("stays") == 1
    assert {"strict", "weak", "weakest", "monotonic"} <= {*texts}
    assert "b [NOW]" in texts


def test_the_graph_has_the_pattern_of_every_edge(explained):
    graph = explained.to_dot()
    edges = dict(re.findall(r"(q\w+ -> q\w+) \[label=\"(\w+)\"\];", graph))
    assert edges == {
        "q0_0 -> q0": "strict", "q0_0_0 -> q0_0": "weak", "q0_0_0_0 -> q0_0_0": "weakest", "q0_0_0_1 -> q0_0_0": "weakest",
        "q1_0 -> q1": "monotonic", "q1_0_0 -> q1_0": "weakest", "q1_0_1 -> q1_0": "weakest",
    }  # fmt: skip
    assert all(f"{node} [label=" in graph for edge in edges for node in edge.split(" -> "))
