"""What `script/bench NAME --against COMMIT` compares, and the trees that it makes for it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
COMPARED = ("many_queries", "nodes", "overlap", "recovery")


@pytest.fixture(scope="module")
def side_by_side() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("_side_by_side")


def test_what_can_be_compared_can_be_trimmed(side_by_side: ModuleType) -> None:
    trimmed = import_module("_side_by_side_trimmed").TRIMMED
    assert set(side_by_side.DURATIONS) == set(trimmed) == {*COMPARED, "start"}
    assert all((BENCHMARKS / f"{name}.py").exists() for name in trimmed)


@pytest.mark.parametrize("name", COMPARED)
def test_a_report_as_it_was_published_has_durations(side_by_side: ModuleType, name: str) -> None:
    report = json.loads((BENCHMARKS / "results" / f"{name}.json").read_text(encoding="utf-8"))
    found = side_by_side.DURATIONS[name](report)
    assert len(found) > 5
    assert all(isinstance(seconds, float) and 0 < seconds < 3_600 for seconds in found.values())


def test_pairs_are_compared_by_the_median_of_their_ratios(side_by_side: ModuleType) -> None:
    """A slow minute hits both of a pair: 10 / 5 is as good a ratio as 2 / 1."""
    pairs = [
        ({"a": 1.0, "gone": 1.0}, {"a": 2.0}),
        ({"a": 5.0}, {"a": 10.0, "new": 1.0}),
        ({"a": 1.0}, {"a": 1.5}),
    ]
    (found,) = side_by_side.compare(pairs)
    assert (found["name"], found["before"], found["now"], found["ratio"]) == ("a", 1.0, 2.0, 2.0)
    assert found["ratios"] == [2.0, 2.0, 1.5]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="there is no history to take a commit from")
def test_a_comparison_that_is_stopped_keeps_its_pairs(
    side_by_side: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = json.loads((BENCHMARKS / "results" / "overlap.json").read_text(encoding="utf-8"))
    runs = iter([published] * 7)  # the first round, two pairs, and half of the third

    def measure(*_: object, **__: object) -> object:
        try:
            return next(runs)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(side_by_side, "RESULTS", tmp_path)
    monkeypatch.setattr(side_by_side.Tree, "check", lambda tree: None)
    monkeypatch.setattr(side_by_side.Tree, "measure", measure)
    monkeypatch.setattr("sys.argv", ["script/bench", "overlap", "--against", "HEAD", "--trimmed"])
    with pytest.raises(KeyboardInterrupt):
        side_by_side.main()
    written = json.loads((tmp_path / "side_by_side_overlap.json").read_text(encoding="utf-8"))
    assert written["pairs"] == 2
    assert {row["ratio"] for row in written["measurements"]} == {1.0}
    assert all(len(row["ratios"]) == 2 for row in written["measurements"])


BENCHMARK_OF_FIVE_RUNS = """
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Settings:
    counts: tuple = ()
    starts: int = 1


QUICK = Settings()


class Start:
    def __init__(self, settings, scratch):
        pass

    def run(self):
        for run in range(5):
            self._process(run)
        return {"starts": Path.cwd().name}

    def _process(self, run):
        if (Path.cwd().name, run) == ("ends", 2):
            sys.exit("no more")
        with Path("../runs").open("a") as runs:
            runs.write(f"{Path.cwd().name} {run}\\n")
"""


def trees_in(side_by_side: ModuleType, directory: Path, *names: str) -> list[Any]:
    for name in names:
        benchmarks = directory / name / "benchmarks"
        benchmarks.mkdir(parents=True)
        (benchmarks / "start.py").write_text(BENCHMARK_OF_FIVE_RUNS, encoding="utf-8")
    return [side_by_side.Tree(directory / name, Path(sys.executable)) for name in names]


def test_two_trees_take_turns_after_every_run(side_by_side: ModuleType, tmp_path: Path) -> None:
    trees = trees_in(side_by_side, tmp_path, "one", "other")
    reports = side_by_side.measure_pair(trees, "start", (), trimmed=True)
    assert reports == {tree: {"starts": tree.path.name} for tree in trees}
    runs = (tmp_path / "runs").read_text(encoding="utf-8").splitlines()
    assert runs == [f"{name} {run}" for run in range(5) for name in ("one", "other")]


def test_a_tree_whose_benchmark_fails_does_not_stop_the_other(
    side_by_side: ModuleType, tmp_path: Path
) -> None:
    trees = trees_in(side_by_side, tmp_path, "ends", "other")
    with pytest.raises(RuntimeError, match=r"(?s)start failed in ends.*no more"):
        side_by_side.measure_pair(trees, "start", (), trimmed=True)
    runs = (tmp_path / "runs").read_text(encoding="utf-8").splitlines()
    assert [run for run in runs if run.startswith("other")] == [f"other {run}" for run in range(5)]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="there is no history to take a commit from")
def test_the_trees_are_the_commits_and_this_one(side_by_side: ModuleType, tmp_path: Path) -> None:
    def shown(path: str) -> str:
        return subprocess.run(
            ["git", "show", f"HEAD:{path}"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout

    for name, own in (("recovery", True), ("overlap", False)):
        scratch = tmp_path / name
        scratch.mkdir()
        before, now = side_by_side.copies("HEAD", name, scratch)
        init, marker = "src/windrow/__init__.py", "benchmarks/results/overlap.json"
        assert (before.path / init).read_text(encoding="utf-8") == shown(init)
        assert (now.path / init).read_text(encoding="utf-8") == (ROOT / init).read_text(encoding="utf-8")
        # A benchmark that looks inside is each tree's own; others are this tree's in both, without results.
        assert (before.path / marker).exists() == own
        assert not (now.path / marker).exists()


def test_a_tree_runs_its_own_windrow(side_by_side: ModuleType, tmp_path: Path) -> None:
    """Also where another one is installed, and also in processes that it starts."""
    package = tmp_path / "src" / "windrow"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    tree = side_by_side.Tree(tmp_path, Path(sys.executable))
    find = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import windrow; print(windrow.__file__)'])"
    assert tree.run("-c", find).stdout.strip() == str(package / "__init__.py")
