"""The pieces of the benchmark `start`: queries that answer in every file, phases, what is judged and drawn."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from windrow import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from pyspark.sql import SparkSession

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def start() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("start")


@pytest.fixture(scope="module")
def child(start: ModuleType) -> ModuleType:
    return import_module("_start_child")


def test_every_query_answers_in_every_file(child: ModuleType, spark: SparkSession, tmp_path: Path) -> None:
    """That is how a run finds out that no query was lost on the way."""
    for number in range(2):
        child.write_file(tmp_path / "input", number, rows=400)
    reports: list[Any] = []
    with Engine(tmp_path / "home", spark) as engine:
        options = {"maxFilesPerTrigger": "1"}
        engine.stream(child.STREAM, tmp_path / "input", "ts", schema=child.SCHEMA, options=options)
        names = engine.execute("\n".join(child.statements(24)))
        engine.on_epoch = reports.append
        engine.run(seal=False)
    assert [{query for query, rows in report.answers.items() if rows} for report in reports] == [
        set(names)
    ] * 2


def test_ten_queries_are_in_ten_classes_and_more_have_all_aggregates(child: ModuleType) -> None:
    def of_class(sql: str) -> tuple[str, str]:
        return sql.partition(" WHERE ")[2], sql.partition(" GROUP BY ")[2]

    assert len({of_class(sql) for sql in child.statements(10)}) == 10
    assert len({(*of_class(sql), sql.split(" AS ")[1]) for sql in child.statements(100)}) == 12 * 4


@pytest.fixture
def report(start: ModuleType) -> dict[str, Any]:
    """What a run would report, with made-up seconds."""

    def summary(home: float) -> dict[str, Any]:
        at = {"imported": 1.0, "session asked for": 1.5, "session": 4.0, "reading": 4.0 + home}
        end = 5.0 + home
        phases = start.phases_of(at | {"read": end - 0.5}, end)
        assert sum(phases.values()) == end
        return {"seconds": [end], "median": end, "spread": 0.0, "phases": phases}

    starts = [{"queries": 10, **summary(1.0)}, {"queries": 10_000, **summary(5.0)}]
    return {"spark_start": summary(0.5), "starts": starts, "bars": [bar.row() for bar in start.bars(starts)]}


def test_the_bar(report: dict[str, Any]) -> None:
    (bar,) = report["bars"]
    name = "a start with 10,000 queries / with 10"
    assert bar == {"name": name, "value": 1.667, "bound": "≤ 1.5", "ok": False}


def test_the_report_is_published(start: ModuleType, report: dict[str, Any], tmp_path: Path) -> None:
    import_module("_harness").publish("start", report, start.draw, quick=True, directory=tmp_path)
    assert json.loads((tmp_path / "start.quick.json").read_text(encoding="utf-8"))["bars"] == report["bars"]
    assert (tmp_path / "start.quick.png").stat().st_size > 0
