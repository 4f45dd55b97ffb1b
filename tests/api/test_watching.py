"""A watch shows the last evaluation of its query, alone and in a notebook, and disturbs nobody."""

from __future__ import annotations

import gc
import logging
import sys
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow
from tests.streams import Files, engine_on
from windrow.api.watching import Watch
from windrow.runtime.epochs import epoch
from windrow.runtime.epochs.report import EpochReport

COUNT = "SELECT COUNT(*) AS n FROM events [RANGE 20 SECONDS SLIDE 10 SECONDS]"


class Notebook:
    """What IPython.display is to a watch: cells with displays, each with all that it has shown."""

    def __init__(self, shell="ZMQInteractiveShell"):
        self.shell = type(shell, (), {})()
        self.displays = []
        self.broken = False

    def display(self, bundle, *, raw, display_id):
        assert raw
        assert display_id is True
        shown = [bundle]
        self.displays.append(shown)

        def show_again(bundle, *, raw):
            assert raw
            if self.broken:
                raise OSError("the kernel is gone")
            shown.append(bundle)

        return SimpleNamespace(update=show_again, display=show_again)


@pytest.fixture
def notebook(monkeypatch):
    return in_notebook(monkeypatch, Notebook())


def in_notebook(monkeypatch, notebook):
    python, display = ModuleType("IPython"), ModuleType("IPython.display")
    python.get_ipython = lambda: notebook.shell
    display.display = notebook.display
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return notebook


@pytest.fixture
def engine(spark, tmp_path):
    """Three files, of which each becomes an epoch, and two queries on them."""
    files = Files(spark, tmp_path / "in")
    for first in (0, 40, 90):
        files.add(first, first + 40)
    with engine_on(files, tmp_path / "home") as engine:
        engine.query("counts", COUNT)
        yield engine


def last_evaluation(engine, name):
    """Recomputed from all results, in the order of keys."""
    results = engine.results(name).toArrow()
    last = results.filter(pc.equal(results["window_end"], pc.max(results["window_end"])))
    return sorted(last.drop_columns(["window_start", "window_end"]).to_pylist(), key=str)


def answers_of(watch):
    return sorted(watch.latest.drop_columns(["window_start", "window_end"]).to_pylist(), key=str)


def report(number, table, **more):
    return EpochReport(
        number, "s", number, 1, 0, 0, 0, 0.1, answers={"q": len(table)}, latest={"q": table}, **more
    )


def test_a_watch_is_the_last_evaluation_of_its_query(engine):
    watch, other = engine.watch("Q"), engine.watch("counts")
    assert str(watch) == "q: no answers yet"
    engine.run(seal=False)
    assert answers_of(watch) == last_evaluation(engine, "q")
    assert answers_of(other) == last_evaluation(engine, "counts")
    lines = str(watch).splitlines()
    assert lines[0] == f"q: 5 answers, epoch {engine.status().epoch}"
    assert lines[1].split() == ["window_start", "window_end", "k", "total", "most", "n"]
    assert [line.split()[4] for line in lines[2:]] == ["0", "1", "2", "3", "4"]
    html = ElementTree.fromstring(watch._repr_html_())
    assert len(list(html.iter("tr"))) == 6


def test_what_an_earlier_engine_answered_is_there_at_once(engine, spark, tmp_path):
    engine.run(seal=False)
    expected = last_evaluation(engine, "q")
    with windrow.Engine(tmp_path / "home", spark=spark) as later:
        watch = later.watch("q")
        assert answers_of(watch) == expected
        assert str(watch).startswith("q: 5 answers\n")


def test_queries_that_are_too_many_for_reports_are_watched_all_the_same(engine, monkeypatch):
    monkeypatch.setattr(epoch, "MOST_WATCHED", 0)
    watch, reports = engine.watch("q"), []
    engine.on_epoch = reports.append
    engine.run(seal=False)
    assert not any(report.latest for report in reports)
    assert answers_of(watch) == last_evaluation(engine, "q")


def test_a_display_is_updated_in_place_beside_others_and_on_epoch(engine, notebook):
    watches, reports = [engine.watch("q"), engine.watch("q", rows=2), engine.watch("counts")], []
    engine.on_epoch = reports.append
    for watch in watches:
        watch._ipython_display_()
    engine.run(seal=False)
    assert len(notebook.displays) == 3
    for watch, shown in zip(watches, notebook.displays, strict=True):
        answered = [report.epoch for report in reports if watch.query in report.answers]
        assert len(answered) > 1
        assert [bundle["text/plain"].splitlines()[0].rpartition(" ")[2] for bundle in shown[1:]] == [
            *map(str, answered)
        ]
        assert shown[0]["text/plain"] == f"{watch.query}: no answers yet"
        assert shown[-1] == {"text/plain": str(watch), "text/html": watch._repr_html_()}
    assert str(watches[1]).splitlines()[-1] == "and 3 more"
    watches[0].stop()
    assert notebook.displays[0][-1]["text/plain"].splitlines()[0].endswith(", stopped")
    before = [len(shown) for shown in notebook.displays]
    engine.run(seal=True)
    after = [len(shown) for shown in notebook.displays]
    assert after[0] == before[0]
    assert after[1] == before[1] + 1
    engine.close()
    assert all(watch.stopped for watch in watches)
    assert "stopped" in notebook.displays[1][-1]["text/html"]


def test_a_watch_that_is_shown_again_has_one_display(notebook):
    watch = Watch("q", 20, lambda: None)
    watch._ipython_display_()
    watch._ipython_display_()
    watch.take_in(report(1, pa.table({"n": [1]})))
    assert len(notebook.displays) == 1
    assert len(notebook.displays[0]) == 3


def test_a_terminal_is_not_written_to_by_itself(monkeypatch, capsys):
    notebook = in_notebook(monkeypatch, Notebook("TerminalInteractiveShell"))
    watch = Watch("q", 20, lambda: None)
    watch._ipython_display_()
    watch.take_in(report(1, pa.table({"n": [1]})))
    assert notebook.displays == []
    assert capsys.readouterr().out == "q: no answers yet\n"


def test_a_watch_that_nobody_holds_is_gone(engine, notebook):
    engine.watch("q")._ipython_display_()
    kept = engine.watch("counts")
    gc.collect()
    engine.run(seal=False)
    assert len(notebook.displays[0]) == 1
    assert kept.latest is not None


def test_a_display_that_fails_ends_its_watch_and_nothing_else(engine, notebook, caplog):
    broken, whole, reports = engine.watch("q"), engine.watch("q"), []
    broken._ipython_display_()
    notebook.broken = True
    engine.on_epoch = reports.append
    with caplog.at_level(logging.WARNING, "windrow"):
        engine.run(seal=False)
    assert len(reports) == 3
    assert broken.stopped
    assert not whole.stopped
    assert answers_of(whole) == last_evaluation(engine, "q")
    assert [record.getMessage() for record in caplog.records] == [
        "query 'q' is no longer watched: the kernel is gone"
    ]


def test_values_and_names_are_escaped_and_odd_types_shown():
    watch = Watch("<q>", 20, lambda: None)
    latest = pa.table(
        {
            "a<b": ["<script>", None],
            "list": [[2], [1]],
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    watch.latest = latest
    text = "".join(ElementTree.fromstring(watch._repr_html_()).itertext())
    assert "<q>: 2 answers" in text
    assert "<script>" in text
    assert "a<b" in text
    assert "NULL" in str(watch)


def test_a_query_that_failed_says_so_until_it_answers_again():
    watch = Watch("q", 20, lambda: None)
    watch.take_in(EpochReport(4, "s", 4, 1, 0, 0, 0, 0.1, quarantined={"q": "Division by zero"}))
    assert str(watch) == "q: quarantined: Division by zero"
    watch.take_in(report(5, pa.table({"n": [1]})))
    assert str(watch) == "q: 1 answer, epoch 5\nn\n1"


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("count", 20, r"there is no query 'count'; did you mean counts\?"),
        ("q", 0, "a watch shows 1 row or more, not 0"),
    ],
)
def test_what_cannot_be_watched(engine, name, rows, message):
    with pytest.raises(windrow.WindrowError, match=message):
        engine.watch(name, rows)
