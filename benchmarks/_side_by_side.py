"""Runs a benchmark of this tree and of another commit's in turns, and compares how long things took.

    script/bench NAME --against COMMIT [--pairs N] [--trimmed] [ARGUMENTS]

Absolute times of one day say little about those of another; two trees that take turns on the same machine
can be compared. Both are copied to a temporary directory, so that nobody's results are overwritten and
edits meanwhile disturb nothing. Both run the benchmark as it is here, so that they measure the same in the
same order; only those that look inside Windrow are each tree's own (`INSIDE`). The environment is this
tree's, with the other's `src` before it, unless that one has other locked dependencies: then it gets an
environment of its own. A first round, which compiles the kernels of both, does not count.

With --trimmed only Windrow is measured, at the sizes that `_side_by_side_trimmed.py` has, and the two trees
take turns after every run that is measured, not only after a whole benchmark (`_side_by_side_turns.py`):
five pairs of overlap, many_queries, recovery and nodes are a matter of an hour on two cores. Otherwise the
arguments go to the benchmark, such as --quick.

Writes results/side_by_side_NAME.json (with --quick: .quick.json) after each pair: nothing there is a bar.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _harness import RESULTS, console
from _side_by_side_durations import DURATIONS
from _side_by_side_turns import Turns, pair_of_turns
from rich.table import Table

ROOT = Path(__file__).parents[1]
CHILD = Path(__file__).with_name("_side_by_side_child.py")
INSIDE = ("many_queries", "recovery")
"""Benchmarks that know what is inside Windrow: this tree's cannot run on the Windrow of another."""


@dataclass(frozen=True)
class Tree:
    """A copy of a tree, and the Python that runs it."""

    path: Path
    python: Path

    def run(self, *command: str, turns: Turns | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python so that it, its processes and Spark's workers find this tree's Windrow."""
        return subprocess.run(
            [self.python, *command],
            cwd=self.path,
            env=os.environ | {"PYTHONPATH": str(self.path / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            pass_fds=(turns.taking, turns.giving) if turns else (),
        )

    def check(self) -> None:
        """Raise unless it is this tree's Windrow that runs, here, in processes and in Spark's workers."""
        done = self.run(str(CHILD), "places")
        places = json.loads(done.stdout.splitlines()[-1]) if not done.returncode else done.stdout
        expected = str(self.path / "src" / "windrow" / "__init__.py")
        if not isinstance(places, list) or set(places) != {expected}:
            raise RuntimeError(f"{expected} should run, and what runs is\n{places}")

    def measure(self, name: str, arguments: Sequence[str], turns: Turns | None = None) -> dict[str, Any]:
        """Run the benchmark, trimmed if it takes turns with another tree's; its report."""
        results = self.path / "benchmarks" / "results"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir()
        if turns:
            command = (str(CHILD), "trimmed", name, str(results / f"{name}.json"))
            try:
                done = self.run(*command, str(turns.taking), str(turns.giving), turns=turns)
            finally:
                turns.close()
        else:
            done = self.run(f"benchmarks/{name}.py", *arguments)
        written = list(results.glob(f"{name}*.json"))
        if len(written) != 1:  # a bar that is not kept is no failure here
            raise RuntimeError(f"{name} failed in {self.path.name}:\n{done.stdout}")
        report: dict[str, Any] = json.loads(written[0].read_text(encoding="utf-8"))
        return report


def measure_pair(
    trees: tuple[Tree, Tree], name: str, arguments: Sequence[str], *, trimmed: bool
) -> dict[Tree, dict[str, Any]]:
    """The reports of a benchmark of two trees, one after the other or, trimmed, in turns."""
    if not trimmed:
        return {tree: tree.measure(name, arguments) for tree in trees}
    with ThreadPoolExecutor(max_workers=2) as both:
        running = [
            both.submit(tree.measure, name, arguments, turns)
            for tree, turns in zip(trees, pair_of_turns(), strict=True)
        ]
        return {tree: one.result() for tree, one in zip(trees, running, strict=True)}


def copies(commit: str, name: str, scratch: Path) -> tuple[Tree, Tree]:
    """The tree of a commit, and this one as it is, both ready for a benchmark."""
    here = Path(sys.executable)
    before, now = scratch / "before", scratch / "now"
    before.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", str(before)], input=archive.stdout, check=True)
    unmade = shutil.ignore_patterns("__pycache__", "results")
    for folder in ("src", "benchmarks"):
        shutil.copytree(ROOT / folder, now / folder, ignore=unmade)
    if name not in INSIDE:
        shutil.rmtree(before / "benchmarks")
        shutil.copytree(now / "benchmarks", before / "benchmarks")
    lock = "requirements.lock"
    if (before / lock).read_bytes() == (ROOT / lock).read_bytes():
        return Tree(before, here), Tree(now, here)
    console.print(f"{commit} has other locked dependencies: it gets an environment of its own")
    subprocess.run(["script/bootstrap"], cwd=before, check=True)
    return Tree(before, before / ".venv" / "bin" / "python"), Tree(now, here)


def compare(pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]) -> list[dict[str, Any]]:
    """What all pairs have measured, before and now; the ratio is that of a pair, and its median is told.

    >>> (found,) = compare([({"a": 2.0, "gone": 1.0}, {"a": 1.0}), ({"a": 2.0}, {"a": 3.0})])
    >>> found["before"], found["now"], found["ratio"], found["ratios"]
    (2.0, 2.0, 1.0, [0.5, 1.5])
    """
    common = [name for name in pairs[0][0] if all(name in one for pair in pairs for one in pair)]
    found = []
    for name in common:
        befores, nows = ([pair[side][name] for pair in pairs] for side in (0, 1))
        ratios = [now / before for before, now in zip(befores, nows, strict=True)]
        found.append(
            {
                "name": name,
                "before": statistics.median(befores),
                "now": statistics.median(nows),
                "ratio": statistics.median(ratios),
                "ratios": ratios,
                "seconds_before": befores,
                "seconds_now": nows,
            }
        )
    return found


def write(
    path: Path, report: Mapping[str, Any], pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]
) -> None:
    """Write what the pairs so far have measured: whoever stops a run of half an hour keeps them."""
    found = {"pairs": len(pairs), "measurements": _rounded(compare(pairs))}
    path.write_text(json.dumps({**report, **found}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def show(title: str, measurements: Sequence[Mapping[str, Any]]) -> None:
    """Print what was compared."""
    table = Table(title=title, title_justify="left")
    table.add_column("measured")
    for column in ("before [s]", "now [s]", "now / before", "from", "to"):
        table.add_column(column, justify="right")
    for row in measurements:
        ratios = (row["ratio"], min(row["ratios"]), max(row["ratios"]))
        seconds = (f"{row[side]:.3f}" for side in ("before", "now"))
        table.add_row(row["name"], *seconds, *(f"{ratio:.2f}" for ratio in ratios))
    console.print(table)


def _git(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)


def _subject(commit: str) -> str:
    return _git("log", "-1", "--format=%h %s", commit).stdout.strip()


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return {key: _rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


def main() -> int:
    """Compare."""
    parser = argparse.ArgumentParser(
        prog="script/bench", description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("name", choices=sorted(DURATIONS))
    parser.add_argument("--against", required=True, metavar="COMMIT", help="the commit to compare with")
    parser.add_argument("--pairs", type=int, default=5, help="how often both are run")
    parser.add_argument("--trimmed", action="store_true", help="only Windrow, at sizes of a minute")
    chosen, arguments = parser.parse_known_args()
    if chosen.pairs < 1:
        parser.error("--pairs is 1 or more")
    if chosen.trimmed and arguments:
        parser.error(f"--trimmed has sizes of its own, and no use for {' '.join(arguments)}")
    if _git("rev-parse", "--verify", "--quiet", f"{chosen.against}^{{commit}}").returncode:
        parser.error(f"there is no commit {chosen.against}")
    name, durations = chosen.name, DURATIONS[chosen.name]
    path = RESULTS / f"side_by_side_{name}{'.quick' if '--quick' in arguments else ''}.json"
    with tempfile.TemporaryDirectory(prefix="windrow-side-by-side-") as scratch:
        # What is compared is what is copied here; commits that come meanwhile are not in it.
        changed = _git("diff", "--quiet", "HEAD", "--", "src", "benchmarks").returncode
        report = {
            "benchmark": name,
            "before": _subject(chosen.against),
            "now": _subject("HEAD") + (", and what is not committed" if changed else ""),
            "arguments": ["--trimmed"] if chosen.trimmed else arguments,
        }
        before, now = copies(chosen.against, name, Path(scratch).resolve())
        for tree in (before, now):
            tree.check()
        pairs: list[tuple[Mapping[str, float], Mapping[str, float]]] = []
        for number in range(chosen.pairs + 1):
            begun = time.perf_counter()
            order = (now, before) if number % 2 else (before, now)
            reports = measure_pair(order, name, arguments, trimmed=chosen.trimmed)
            took = f"{time.perf_counter() - begun:.0f} s"
            if number:
                pairs.append((durations(reports[before]), durations(reports[now])))
                write(path, report | {"machine": reports[now].get("machine")}, pairs)
            console.print(f"pair {number} of {chosen.pairs}: {took}" if number else f"first round: {took}")
    measurements = compare(pairs)
    show(f"{name}: {chosen.against} and now, pairs: {chosen.pairs}", measurements)
    console.print(f"wrote {path.name} to {path.parent.name}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
