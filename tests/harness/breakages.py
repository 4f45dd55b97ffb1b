"""Engines with a bug in them: each of these breaks the engine, and comparisons must notice.

Works on the running code: the broken source is compiled, and the function gets its code. `tests/soak/proof.py`
plays stories with them.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.harness.faults import BEFORE_COMMIT, IN_AN_EPOCH


@dataclass(frozen=True)
class Breakage:
    """A function of the engine in which some text is replaced, and the steps to interrupt at."""

    name: str
    function: str
    """module below windrow.runtime:qualified name"""
    old: str
    new: str
    steps: tuple[str, ...]
    same_engine: bool = False
    passing: bool = False
    """Whether the disk fails there for a moment, in place of an interruption."""


SOUND = Breakage(
    "nothing: the control", "home.home:Home.commit", "reach", "reach", BEFORE_COMMIT, same_engine=True
)
BREAKAGES = (
    Breakage(
        "a batch that was committed is taken again",
        "epochs.stage:Staging.staged",
        "if batch_id == self.progress.batch:",
        "if False:",
        ("epoch committed",),
    ),
    Breakage(
        "progress is committed before the files",
        "home.home:Home.commit",
        '        reach("files written")\n',
        """        with self.catalog.transaction() as database:
            for stream, advance in epoch.streams.items():
                p = advance.progress
                database.execute(
                    "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (stream, p.batch, p.latest, p.watermark, p.sealed, p.idle, p.clock, p.rows, p.late, p.dead, None),
                )
        reach("files written")
""",
        ("files written",),
    ),
    Breakage(
        "state is kept after an epoch that failed",
        "epochs.epoch:Epochs._attempt",
        "            self._executor.drop(",
        "            list(",
        IN_AN_EPOCH,
        passing=True,
    ),
    Breakage(
        "results do not know their epoch",
        "home.results:ResultWriter.write",
        "np.full(len(answers), self._epoch, np.int64)",
        "np.full(len(answers), 0, np.int64)",
        (),
    ),
    Breakage(
        "nothing is swept",
        "home.home:Home.running",
        "self._sweep(), self.catalog",
        "0, self.catalog",
        ("files written",),
    ),
    Breakage(
        "open slices are not read back",
        "state.executor:Executor._read_back",
        "operator.restore(*self._log.read(plan.id), evaluated)",
        "operator.restore(self._log.read(plan.id)[0], None, evaluated)",
        ("epoch committed",),
    ),
    Breakage(
        "compaction removes the old files first",
        "home.compaction:Compactor._merge",
        '        reach("compaction written")\n',
        """        for file in files:
            (self._home.path / file.path).unlink()
        reach("compaction written")
""",
        ("compaction written",),
    ),
    Breakage(
        "late rows and dead letters are listed in a transaction of their own",
        "epochs.epoch:Epochs._record",
        "                epoch.files += part.refused(epoch.number, self._behind(part, answers.works))\n",
        """                refused = part.refused(epoch.number, self._behind(part, answers.works))
                early = self._home.forced(refused)
                with self._home.catalog.transaction() as database:
                    self._home.catalog.list_files(database, early)
""",
        ("transaction open",),
    ),
    Breakage(
        "a sink does not get what was committed while it was away",
        "epochs.sinks:catch_up",
        "        _deliver_backlog(home, query)\n",
        "        query.stored = replace(query.stored, delivered=home.catalog.last_epoch())\n",
        ("epoch committed",),
    ),
    Breakage(
        "quarantine is not committed",
        "home.catalog.queries:QueriesTable.update_queries",
        "q.quarantined, q.quarantined_epoch, q.answers",
        "None, None, q.answers",
        ("epoch committed",),
    ),
)


@contextmanager
def broken(breakage: Breakage) -> Iterator[None]:
    """The engine, broken for a while."""
    module_name, _, qualified = breakage.function.partition(":")
    module = importlib.import_module(f"windrow.runtime.{module_name}")
    assert module.__file__ is not None
    source = Path(module.__file__).read_text(encoding="utf-8")
    assert source.count(breakage.old) >= 1, f"{breakage.name}: the engine no longer says {breakage.old!r}"
    code = _code(compile(source.replace(breakage.old, breakage.new), module.__file__, "exec"), qualified)
    function = module
    for part in qualified.split("."):
        function = vars(function)[part]
    function = getattr(function, "__func__", function)  # a static method
    function = getattr(function, "__wrapped__", function)  # a context manager
    sound, function.__code__ = function.__code__, code
    try:
        yield
    finally:
        function.__code__ = sound


def _code(within: types.CodeType, qualified: str) -> types.CodeType:
    for constant in within.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_qualname == qualified:
                return constant
            if qualified.startswith(f"{constant.co_qualname}."):
                return _code(constant, qualified)
    raise LookupError(qualified)
