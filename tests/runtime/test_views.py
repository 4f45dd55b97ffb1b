"""The answer at an instant, from the changes that are on disk; and what RETAIN leaves of them."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import windrow
from tests.changes_at_rest import (
    COLUMNS,
    INSTANT,
    MONOTONIC,
    SECOND,
    Changing,
    Life,
    bits,
    schema_of,
    there,
)
from tests.examples import examples
from tests.harness.on_disk import add_query, committed_query
from windrow.columns import BEGINNING, END_OF_TIME
from windrow.errors import WindrowError
from windrow.runtime.home import compaction, home
from windrow.runtime.home.declarations import AnswerKind, declared_kind
from windrow.runtime.home.records import Progress
from windrow.runtime.home.results import answers_since
from windrow.runtime.home.views import parsed_instant

VALUES = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([0.0, -0.0, math.nan, None, 1.5]),
    st.sampled_from([None, [], [1.0], [-0.0, None]]),
)


@st.composite
def lives(draw):
    """A row that ends by itself, is taken back before that or without having said anything, or stays."""
    begins = draw(st.integers(-20, 40))
    ends = draw(st.one_of(st.none(), st.integers(begins + 1, 60)))
    says = None if ends is None else draw(st.sampled_from([None, ends, ends + draw(st.integers(1, 9))]))
    return Life(draw(VALUES), begins, ends, says)


HISTORIES = st.lists(lives(), max_size=25)
CUTS = st.lists(st.integers(-20, 60), max_size=6, unique=True).map(sorted)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few files are many, so that tests need not write thousands."""
    monkeypatch.setattr(compaction, "FAN", 2)
    monkeypatch.setattr(home, "GRACE_SECONDS", 0)
    monkeypatch.setattr(home, "LEAST_GRACE_SECONDS", 0)


@settings(max_examples=examples(25))
@given(HISTORIES, HISTORIES, CUTS, st.booleans(), st.sampled_from([None, 1, 10]), st.booleans())
@example([Life(("a", 1.5, None), -20)], [], [-10, 0, 20, 40, 60], True, 1, True)  # stays for ever
@example([Life(("a", 1.5, None), 0, 30), Life(("b", 1.5, None), 39)], [], [10, 20, 40, 50], True, 1, True)
def test_the_answer_at_every_instant_is_the_rows_that_are_there(
    tmp_path_factory, history, other, cuts, compacts, retain, in_memory
):
    changing = Changing(tmp_path_factory.mktemp("views") / "home", retain=retain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "SORTED_BYTES", compaction.SORTED_BYTES if in_memory else 0)
        for until in [*cuts, 61]:
            changing.lives(until, history, other)
            if compacts:
                changing.compact()
            with pytest.raises(WindrowError, match="not final yet"):
                changing.view(until)
            assert changing.view() == there(history, until - 1)
        for name, own in (("q", history), ("other", other)):
            edge = changing.home.catalog.query(name).retained_from
            for at in range(-21 if edge is None else edge, 61, 3):
                assert changing.view(at, name) == there(own, at), at
            if edge is not None:
                with pytest.raises(WindrowError, match="is gone: its RETAIN"):
                    changing.view(edge - 1, name)
    changing.close()


def test_housekeeping_leaves_the_rows_that_live_and_no_others(tmp_path):
    """A row an instant, each taken back after three, one that stays, and one that ends by itself at last.

    What is left over of a file is what lives on beyond it, or was taken back in it; of levels there are few.
    """
    changing = Changing(tmp_path / "home", retain=5, queries=["q"])
    stays, ends = Life(("stays", 1.0, None), 0), Life(("ends", 1.0, None), 0, 60, 60)
    history = [stays, ends, *(Life((str(n), 1.0, None), n, n + 3) for n in range(100))]
    rows = []
    for until in range(1, 101):
        changing.lives(until, history)
        changing.compact()
        rows.append(sum(file.rows for file in changing.home.catalog.files("results")))
    assert max(rows) < 60 < len(history)
    assert changing.view() == there(history, 99)
    assert changing.view(95) == there(history, 95)
    assert changing.home.check()
    changing.close()


def test_files_whose_rows_have_all_ended_go_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "FAN", 100)
    changing = Changing(tmp_path / "home", retain=5, queries=["q"])
    history = [Life((str(n), 1.0, None), n, n + 10, n + 10) for n in range(40)]
    for until in range(1, 41):
        changing.lives(until, history)
        changing.compact()
        assert len(changing.home.catalog.files("results")) <= 15
    assert changing.view(35) == there(history, 35)
    changing.close()


def test_results_that_never_end_go_by_their_time(spark, tmp_path):
    changing = Changing(tmp_path / "home", MONOTONIC, retain=3, queries=["q"])
    history = [Life((str(n), 1.0, None), n) for n in range(12)]
    for until in range(1, 13):
        changing.lives(until, history)
    before = changing.view()
    changing.compact()
    assert before == changing.view() == there(history[-3:], 11)
    left = [pq.read_table(changing.home.path / file.path) for file in changing.home.catalog.files("results")]
    assert sum(map(len, left)) < 8
    changing.close()


def test_the_changes_that_are_kept_sum_up_to_the_answer(spark, tmp_path):
    """As in a database of one's own, with housekeeping and without."""
    changing = Changing(tmp_path / "home", retain=5, queries=["q"])
    stays, ends = Life(("stays", 1.0, None), 0), Life(("ends", 1.0, None), 1, 11, 18)
    history = [
        stays,
        ends,
        *(Life((str(n), 1.0, None), n, n + 3, n + 3 if n % 2 else None) for n in range(13)),
    ]
    for until in range(1, 14):
        changing.lives(until, history)
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    edge = changing.home.catalog.query("q").retained_from
    for _ in range(2):
        found = engine.results("q").toArrow()
        rows = found.set_column(1, "_ts", found["_ts"].cast(pa.int64()))
        rows = rows.set_column(2, "_exp", rows["_exp"].cast(pa.int64())).to_pylist()
        for at in range(edge, 13):
            net = Counter()
            for row in rows:
                if row["_ts"] <= at and (row["_exp"] is None or at < row["_exp"]):
                    net[repr({name: row[name] for name, _ in COLUMNS})] += row["_op"]
            assert sorted(net.elements()) == there(history, at)
        changing.compact()
    assert {row.k for row in engine.results("q", last="2 microseconds").collect()} < {
        row["k"] for row in rows
    }
    engine.close()
    changing.close()


def test_a_sink_that_missed_changes_gets_each_epoch_whole_from_merged_files(tmp_path):
    changing = Changing(tmp_path / "home", queries=["q"])
    history = [Life(("stays", 1.0, None), 0), *(Life((str(n), 1.0, None), n, n + 3) for n in range(16))]
    for until in range(1, 17):
        changing.lives(until, history)
    (query,) = changing.home.catalog.queries()
    before = [(epoch, bits(rows.to_pylist())) for epoch, rows in answers_since(changing.home, query, 2)]
    changing.compact()
    after = [(epoch, bits(rows.to_pylist())) for epoch, rows in answers_since(changing.home, query, 2)]
    assert after == before
    assert [epoch for epoch, _ in after] == list(range(3, 16))
    changing.close()


def test_a_later_answer_reads_no_history(tmp_path, monkeypatch):
    changing = Changing(tmp_path / "home", queries=["q"])
    history = [Life(("stays", 1.0, None), 0), *(Life((str(n), 1.0, None), n, n + 1) for n in range(32))]
    for until in range(1, 33):
        changing.lives(until, history)
        changing.compact()
    changing.lives(50, history)
    read = []
    read_row_group = pq.ParquetFile.read_row_group

    def noted(file, group, *rest, **options):
        table = read_row_group(file, group, *rest, **options)
        read.append(len(table))
        return table

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    assert changing.view() == there(history, 49)
    assert sum(read) <= 10
    read.clear()
    assert changing.view(20) == there(history, 20)
    assert sum(read) > 30
    for at in range(50):
        assert changing.view(at) == there(history, at)
    changing.close()


def test_row_groups_and_files_that_ended_before_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "FAN", 1000)
    changing = Changing(tmp_path / "home", queries=["q"])
    history = [Life((str(n), 1.0, None), n, n + 2, n + 2) for n in range(20)]
    for until in range(1, 21):
        changing.lives(until, history)
    read = []
    read_row_group = pq.ParquetFile.read_row_group
    monkeypatch.setattr(
        pq.ParquetFile,
        "read_row_group",
        lambda file, group: read.append(group) or read_row_group(file, group),
    )
    assert changing.view(12) == there(history, 12)
    assert len(read) == 2
    changing.close()


# with SLIDE

ENDS = [("window_end", INSTANT), ("n", pa.int64())]


def evaluations(slide, offset=0, **more):
    return schema_of(AnswerKind("evaluations", slide=slide, offset=offset, **more), ENDS, "window_end")


def test_with_slide_it_is_the_last_evaluation_also_if_that_has_no_rows(tmp_path):
    changing = Changing(tmp_path / "home", evaluations(10, 3), queries=["q"])
    rows = {-7: [1], 3: [2, 3], 23: [4]}  # that at 13 has no rows
    for until in range(-10, 40, 5):
        new = [(e, n) for e, values in rows.items() if until - 5 < e <= until for n in values]
        changing.epoch(until, new)
        for at in range(-17, until):
            last = (at + 1 - 3) // 10 * 10 + 3
            end = pa.scalar(last).cast(INSTANT).as_py()
            assert changing.view(at) == bits({"window_end": end, "n": n} for n in rows.get(last, []))
    changing.close()


# when there is no answer


def refused(changing, match, at=None, name="q"):
    with pytest.raises(WindrowError, match=match):
        changing.view(at, name)


def test_queries_that_have_no_answer_at_an_instant(tmp_path):
    changing = Changing(tmp_path / "home", queries=["q"])
    rows = [("_ts", INSTANT), ("n", pa.int64())]
    numbered = [("window_end", INSTANT), ("window_row", pa.int64())]
    for name, schema in {
        "new": schema_of(AnswerKind("rows", "ISTREAM"), rows),
        "gone": schema_of(AnswerKind("evaluations", "DSTREAM", slide=10), ENDS, "window_end"),
        "selected": schema_of(AnswerKind("rows"), rows),
        "counted": schema_of(AnswerKind("evaluations"), numbered, "window_end"),
        "old": pa.schema(ENDS),
    }.items():
        add_query(changing.home.catalog, name, "SELECT …", "s", schema)
    refused(changing, "'q' has no answer yet: no watermark", name="q")
    refused(changing, "no answer at an instant: ISTREAM says what is new", name="new")
    refused(changing, "no answer at an instant: DSTREAM says what is gone", name="gone")
    refused(changing, "no answer at an instant: it has no window", name="selected")
    refused(changing, "its window counts rows", name="counted")
    refused(changing, "registered by an earlier Windrow.*register it again as it is", name="old")
    add_query(changing.home.catalog, "old", "SELECT …", "s", evaluations(10))
    refused(changing, "'old' has no answer yet", name="old")
    changing.close()


def test_before_it_began_it_has_none_and_an_earlier_life_does_not_count(tmp_path):
    changing = Changing(tmp_path / "home", schema_of(AnswerKind("changes", pattern="strict", longest=10)))
    old, new = Life(("old", 1.0, None), 1), Life(("new", 1.0, None), 25)
    changing.lives(20, [old], [])
    with changing.home.catalog.transaction() as database:
        database.execute("UPDATE queries SET complete_after = 15 WHERE name = 'q'")
    changing.lives(40, [old, new], [])
    refused(changing, r"'q' has no answer at 1970-01-01 00:00:00.000024: it came when", at=24)
    assert changing.view(25) == there([new], 25)
    changing.close()


def test_after_a_seal_it_is_of_the_latest_event_time(tmp_path):
    changing = Changing(tmp_path / "home", queries=["q"])
    history = [Life(("a", 1.0, None), 0, 10, 10), Life(("b", 1.0, None), 7, 17, 17)]
    changing.lives(9, history)
    changing.epoch(END_OF_TIME, [])
    with changing.home.catalog.transaction() as database:
        database.execute("UPDATE queries SET sealed = 1")
        changing.home.catalog.write_progress(database, "s", Progress(1, 7, 7, sealed=True))
    assert changing.view() == there(history, 7)
    assert changing.view(12) == there(history, 12)
    assert changing.view(10**17) == []
    changing.close()


def test_a_query_in_quarantine_is_answered_up_to_its_last_change(tmp_path):
    changing = Changing(tmp_path / "home", queries=["q"])
    history = [Life(("a", 1.0, None), 0, 10, 10), Life(("b", 1.0, None), 7, 17, 17)]
    changing.lives(9, history)
    with changing.home.catalog.transaction() as database:
        database.execute("UPDATE queries SET quarantined = 'why'")
        database.execute("DELETE FROM members")
    assert changing.view() == there(history, 7)
    refused(changing, "answered before 1970-01-01 00:00:00.000008, and it is quarantined", at=8)
    changing.close()


@pytest.mark.parametrize("until", [BEGINNING, -5])
def test_an_instant_that_may_still_change_is_not_final(tmp_path, until):
    changing = Changing(tmp_path / "home", queries=["q"])
    changing.epoch(until, [])
    refused(changing, "no watermark" if until == BEGINNING else "may still come", at=-5)
    changing.close()


@pytest.mark.parametrize(
    ("text", "zone", "instant"),
    [
        ("1970-01-01", "UTC", 0),
        ("1969-12-31 23:59:59.999999", "UTC", -1),
        (" 1970-01-01T01:00:00+01:00", "America/New_York", 0),
        ("1970-01-01 01:00", "Europe/Berlin", 0),
        (datetime(1970, 1, 1, 1), "Europe/Berlin", 0),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "Europe/Berlin", SECOND),
    ],
)
def test_instants(text, zone, instant):
    assert parsed_instant(text, zone) == instant


@pytest.mark.parametrize("text", ["", "noon", "2024-13-01", 5, None])
def test_what_is_no_instant(text):
    with pytest.raises(WindrowError, match=r"is no instant; write it as 2024-01-31 12:00"):
        parsed_instant(text)


def test_a_time_zone_without_a_name():
    with pytest.raises(WindrowError, match=r"\+01:00 is not known here.*1970-01-01 00:00:00\+00:00"):
        parsed_instant("1970-01-01", "+01:00")


# through the engine


def test_an_engine_has_it_as_a_dataframe(spark, tmp_path):
    changing = Changing(tmp_path / "home", queries=["q"])
    history = [Life(("a", -0.0, [1.0]), -5 * SECOND, 3 * SECOND, 3 * SECOND), Life(("b", None, None), 0)]
    changing.lives(60 * SECOND, history)
    changing.close()
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    assert engine.view("q").columns == [name for name, _ in COLUMNS]
    assert [tuple(row) for row in engine.view("Q").collect()] == [("b", None, None)]
    assert sorted(row.k for row in engine.view("q", at="1970-01-01 00:00:02").collect()) == ["a", "b"]
    assert engine.view("q", at=datetime(1969, 1, 1, tzinfo=UTC)).collect() == []
    with pytest.raises(WindrowError, match="there is no query 'p'"):
        engine.view("p")
    assert str(engine.watch("q")).splitlines()[1:4] == [
        "   at                   k     x  tags   until",
        "+  1969-12-31 23:59:55  a  -0.0  [1.0]  1970-01-01 00:00:03",
        "+  1970-01-01 00:00:00  b  NULL  NULL",
    ]
    engine.close()


def test_what_an_engine_registers_declares_what_its_answers_are(spark, tmp_path):
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    frame = spark.sql("SELECT timestamp_seconds(id) AS ts, id FROM range(100)")
    engine.stream("s", frame, timestamp="ts")
    engine.query("q", "SELECT id FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS OFFSET 3 SECONDS] WHERE id < 30 "
                      "GROUP BY id")  # fmt: skip
    engine.query("rows", "SELECT id FROM s")
    kinds = {name: declared_kind(committed_query(tmp_path / "home", name).schema) for name in ("q", "rows")}
    assert kinds == {
        "q": AnswerKind("evaluations", slide=10 * SECOND, offset=3 * SECOND, longest=20 * SECOND),
        "rows": AnswerKind("rows"),
    }
    engine.run(seal=True)
    assert sorted(row.id for row in engine.view("q", at="1970-01-01 00:00:40").collect()) == list(
        range(13, 30)
    )
    assert engine.view("q", at="1970-01-01 00:01:00").collect() == []
    engine.close()
