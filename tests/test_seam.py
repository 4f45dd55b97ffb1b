"""Only `tests/harness` looks inside an engine: whoever rebuilds the inside changes the harness and no test.

This reads the tests, and the programs that they have as text; it runs none of them.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parent
HARNESS = TESTS / "harness"
PARTS = {"Staging", "Epochs"}
"""What stages and commits: nobody but the harness puts these together, or takes them apart."""
COLUMNS = {"_reason", "_raw", "_file", "_position", "_late_by", "_query", "_epoch"}
"""Columns of late rows, dead letters and results, which `Engine.late`, `dead` and `results` promise by name."""
JAVA = {"_jvm", "_jsc"}
"""The only doors that PySpark has to Java."""
EXCEPTIONS = {
    (
        "operators/test_row_windows.py",
        "_layout",
    ): "how many values it has ranked is bounded; nobody else asks",
    (
        "logical/test_records.py",
        "_sources",
    ): "seals what no engine would write, as whoever can write a home might",
    (
        "logical/test_records.py",
        "_seal",
    ): "seals what no engine would write, as whoever can write a home might",
    ("operators/test_window_aggregate.py", "_groups"): "how many keys it knows is bounded; nobody else asks",
    ("operators/test_shared_aggregate.py", "_groups"): "answers that fail as none of the aggregates would",
}
"""By file and attribute, why: these are parts that the test itself has made, without an engine."""


def is_private(name: object) -> bool:
    """Whether a name is nobody else's business: not those of Python and of notebooks, which end as they begin."""
    return isinstance(name, str) and name.startswith("_") and not name.endswith("_") and len(name) > 1


def private_parts(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a program that touch what is not public, and the names that they touch."""
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name) if is_private(name) or name in PARTS:
                yield line, name
            case ast.Name(id=name) if name in PARTS:
                yield line, name
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] == "windrow":
                yield from ((line, of.name) for of in names if is_private(of.name) or of.name in PARTS)
            case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function), args=arguments) if (
                function in ("getattr", "setattr", "hasattr", "delattr")
            ):
                words = [of.value for of in arguments if isinstance(of, ast.Constant)]
                last = [word.rpartition(".")[2] for word in words if isinstance(word, str)]
                yield from ((line, name) for name in last if is_private(name) or name in PARTS)
            case ast.Constant(value=str(text)) if text.startswith(("\nimport ", "\nfrom ")):
                yield from ((line + within - 1, name) for within, name in private_parts(text))


def test_nobody_but_the_harness_looks_inside_an_engine():
    found, used = [], set()
    for path in sorted(TESTS.rglob("*.py")):
        if path.is_relative_to(HARNESS) or path == Path(__file__):
            continue
        file = str(path.relative_to(TESTS))
        for line, name in private_parts(path.read_text(encoding="utf-8")):
            if (file, name) in EXCEPTIONS:
                used.add((file, name))
            elif name not in COLUMNS | JAVA:
                found.append(f"tests/{file}:{line}: {name}")
    assert found == [], "ask the public face, or let tests/harness have what the test needs"
    assert used == EXCEPTIONS.keys(), "some exceptions are no longer needed"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("engine._home.catalog.last_epoch()", "_home"),
        ("engine_on(files, home)._running", "_running"),
        ("live._heart.join()", "_heart"),
        ("reader._stopping = True", "_stopping"),
        ("from windrow.runtime.state.executor import Executor, _take", "_take"),
        ("from windrow.runtime.epochs.stage import Staging", "Staging"),
        ("staging = stage.Staging(home, stream, clock)", "Staging"),
        ("Epochs(spark, home).run(part)", "Epochs"),
        ("monkeypatch.setattr(analyst, '_ask', fail)", "_ask"),
        ("monkeypatch.setattr('windrow.runtime.spark.refused_tables._write', fail)", "_write"),
        ("getattr(engine, '_home')", "_home"),
        ('PROGRAM = """\nimport windrow\nprint(windrow.Engine()._home)\n"""', "_home"),
    ],
)
def test_a_look_inside_is_noticed(source, name):
    assert [found for _, found in private_parts(source)] == [name]


@pytest.mark.parametrize(
    "source",
    [
        "self._clock = clock",
        "type(table).__name__",
        "row['_query']",
        "from benchmarks._harness import Bar",
        "for _ in range(3): engine.run()",
        "monkeypatch.setattr(patience, 'PAUSES', ())",
    ],
)
def test_what_is_no_look_inside(source):
    assert list(private_parts(source)) == []
