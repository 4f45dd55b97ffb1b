from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta

import pytest

from windrow.errors import WindrowError
from windrow.runtime.logs import LOG, event, log_to

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def test_an_event_is_a_line_with_its_fields(path):
    before = datetime.now(UTC)
    with log_to(path):
        event(logging.INFO, "epoch_committed", "epoch %(epoch)d committed", epoch=17, watermark=NOON)
    (line,) = lines(path)
    assert before <= datetime.fromisoformat(line.pop("time")) <= datetime.now(UTC)
    assert line == {
        "level": "INFO", "logger": "windrow", "event": "epoch_committed", "message": "epoch 17 committed",
        "epoch": 17, "watermark": "2026-01-31T12:00:00.000000Z",
    }  # fmt: skip


def test_times_are_utc_and_say_so(path):
    with log_to(path):
        event(logging.INFO, "started", "100 % ready")
    (line,) = lines(path)
    assert line["time"].endswith("Z")
    assert line["message"] == "100 % ready"


def test_plain_records_and_those_of_children_are_lines_too(path):
    with log_to(path):
        logging.getLogger("windrow.somewhere").warning("two\nlines of %s", "text")
        LOG.info("with extra", extra={"windrow": {"event": "mine", "level": "is taken", "n": 1}})
    first, second = lines(path)
    assert (first["logger"], first["event"], first["message"]) == (
        "windrow.somewhere",
        "message",
        "two\nlines of text",
    )
    assert (second["event"], second["level"], second["n"]) == ("mine", "INFO", 1)


def test_an_error_brings_its_traceback(path):
    with log_to(path):
        try:
            raise ValueError("no such thing")
        except ValueError as error:
            event(logging.ERROR, "sink_failed", "the sink of %(query)s failed", query="q", error=error)
    (line,) = lines(path)
    assert line["exception"]["type"] == "ValueError"
    assert line["exception"]["message"] == "no such thing"
    assert "test_logs.py" in line["exception"]["traceback"]


def test_every_value_has_a_form_in_json(path):
    odd = {
        "nan": float("nan"), "wait": timedelta(minutes=2), "many": {"a": (1, 2.5)}, "path": path,
        "broken": "half a \ud83d pair", "accent": "é",
    }  # fmt: skip
    with log_to(path):
        event(logging.INFO, "odd", "…", **odd)
    (line,) = lines(path)
    assert {key: line[key] for key in odd} == {
        **odd, "nan": "nan", "wait": 120.0, "many": {"a": [1, 2.5]}, "path": str(path),
    }  # fmt: skip
    assert "é" in path.read_text(encoding="utf-8")


def test_a_log_is_appended_to_and_ends_when_it_is_closed(path):
    level = LOG.level
    for number in range(2):
        with log_to(path):
            event(logging.INFO, "run", "run %(number)d", number=number)
        event(logging.ERROR, "outside", "nobody logs this there")
    assert [line["number"] for line in lines(path)] == [0, 1]
    assert LOG.level == level


def test_each_log_has_its_own_level(path, tmp_path):
    with log_to(path), log_to(tmp_path / "warnings.jsonl", logging.WARNING):
        event(logging.INFO, "small", "…")
        event(logging.WARNING, "large", "…")
    assert [line["event"] for line in lines(path)] == ["small", "large"]
    assert [line["event"] for line in lines(tmp_path / "warnings.jsonl")] == ["large"]


def test_a_file_that_was_moved_away_is_made_anew(path):
    with log_to(path):
        event(logging.INFO, "first", "…")
        path.rename(path.with_suffix(".old"))
        event(logging.INFO, "second", "…")
    assert [line["event"] for line in lines(path.with_suffix(".old"))] == ["first"]
    assert [line["event"] for line in lines(path)] == ["second"]


def test_a_place_where_no_file_can_be(tmp_path):
    with pytest.raises(WindrowError, match=r"cannot log to .*nowhere.*No such file"):
        log_to(tmp_path / "nowhere" / "log.jsonl")
