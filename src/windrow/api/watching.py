"""What `Engine.watch` returns: the latest answers of a query, which a notebook shows anew after every epoch.

IPython is not needed: without it, a watch is a text and an HTML table that are asked for.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from html import escape
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from windrow.runtime.home.results import have_a_time_each
from windrow.runtime.logs import event
from windrow.runtime.watch.shown import CHANGES as CHANGES
from windrow.runtime.watch.shown import Shown as Shown
from windrow.runtime.watch.shown import answers as answers
from windrow.runtime.watch.shown import are_changes as are_changes
from windrow.runtime.watch.shown import cell as cell
from windrow.runtime.watch.shown import duration as duration
from windrow.runtime.watch.shown import in_order as in_order
from windrow.runtime.watch.shown import reading_order as reading_order
from windrow.runtime.watch.shown import until as until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from windrow.runtime.epochs.report import EpochReport


class Watch:
    """The last evaluation of a query, or the latest answers of one without a window: `print(watch)`, or in a
    notebook a table that stays up to date.

    It does so as long as somebody holds it (a name, or the cell that ends in it), until `stop()` or until the
    engine is closed. `latest` is the same as an Arrow table, None before the first answers.
    """

    def __init__(self, query: str, rows: int, read: Callable[[], pa.Table | None]) -> None:
        self.query = query
        self.latest: pa.Table | None = None
        self.epoch: int | None = None
        """The epoch that answered last; None before the first one that it has seen."""
        self.stopped = False
        self._rows = rows
        self._read = read
        self._failed = ""
        self._changing = RLock()
        """Epochs come in threads of their own, whoever shows and stops it in another."""
        self._display: Any = None
        """IPython's handle of what is on display, in one cell or in several."""

    def stop(self) -> None:
        """Show no more answers than there are now."""
        with self._changing:
            if not self.stopped:
                self.stopped = True
                self._update()

    def look(self) -> None:
        """Take in what is committed, if no epoch has been seen yet."""
        with self._changing:
            if self.latest is None:
                self.latest = self._read()

    def take_in(self, report: EpochReport) -> None:
        """Take in an epoch; what goes wrong here ends the watch, and not the epoch."""
        with self._changing:
            answered, failed = self.query in report.answers, self.query in report.quarantined
            if self.stopped or not (answered or failed):
                return
            self._failed = report.quarantined.get(self.query, "")
            if answered:
                self.epoch = report.epoch
                self._latest_of(report)
            self._update()

    def _latest_of(self, report: EpochReport) -> None:
        """Reports of more queries than anybody looks at have no answers; the home has them."""
        if self.query in report.latest:
            self.latest = report.latest[self.query]
            return
        with self._careful():
            self.latest = self._read()

    def __str__(self) -> str:
        """A line about it, and the answers side by side."""
        with self._changing:
            shown = self._shown()
            lines = [self._caption(), *([answers(shown).text()] if shown is not None else []), self._rest()]
        return "\n".join(filter(None, lines))

    def _repr_html_(self) -> str:
        with self._changing:
            shown = self._shown()
            table = answers(shown).html() if shown is not None else ""
            rest = f"<p>{escape(self._rest())}</p>" if self._rest() else ""
            return f"<div><p>{escape(self._caption())}</p>{table}{rest}</div>"

    def _ipython_display_(self) -> None:
        """What IPython calls to show it; in a notebook, from now on it is kept up to date."""
        from IPython import get_ipython
        from IPython.display import display

        if type(get_ipython()).__name__ == "TerminalInteractiveShell":
            print(self)  # a terminal cannot take back what it has printed
            return
        with self._changing:
            if self._display is None:
                self._display = display(self._bundle(), raw=True, display_id=True)
            else:
                self._display.display(self._bundle(), raw=True)

    def _update(self) -> None:
        if self._display is not None:
            with self._careful():
                self._display.update(self._bundle(), raw=True)

    @contextmanager
    def _careful(self) -> Iterator[None]:
        """Whatever goes wrong ends the watch and is logged."""
        try:
            yield
        except Exception as error:
            self.stopped = True
            event(
                logging.WARNING, "watch_failed", "query '%(query)s' is no longer watched: %(reason)s",
                query=self.query, reason=str(error), error=error,
            )  # fmt: skip

    def _bundle(self) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _caption(self) -> str:
        if self._failed:
            return f"{self.query}: quarantined: {self._failed}"
        if self.latest is None:
            return f"{self.query}: no answers yet{', stopped' if self.stopped else ''}"
        of_epoch = f", epoch {self.epoch:,}" if self.epoch is not None else ""
        number = min(len(self.latest), self._rows) if self._by_time else len(self.latest)
        count = f"{'latest ' if self._by_time else ''}{number:,} answer{'s'[: number != 1]}"
        return f"{self.query}: {count}{of_epoch}{', stopped' if self.stopped else ''}"

    def _rest(self) -> str:
        left = 0 if self.latest is None or self._by_time else len(self.latest) - self._rows
        return f"and {left:,} more" if left > 0 else ""

    @property
    def _by_time(self) -> bool:
        """Whether answers have a time each."""
        return self.latest is not None and have_a_time_each(self.latest.schema)

    def _shown(self) -> pa.Table | None:
        """The first of the answers of an evaluation, in an order that stays from epoch to epoch; of answers
        that have a time each, the last."""
        if self.latest is None:
            return None
        if self._by_time:
            return self.latest.slice(max(len(self.latest) - self._rows, 0))
        return in_order(self.latest).slice(0, self._rows)


class Watches:
    """The watches of an engine that somebody still holds."""

    def __init__(self) -> None:
        self._held: WeakSet[Watch] = WeakSet()
        self._changing = Lock()

    def add(self, watch: Watch) -> None:
        """Let a watch take in epochs from now on."""
        with self._changing:
            self._held.add(watch)

    def take_in(self, report: EpochReport) -> None:
        """Let all take in an epoch."""
        for watch in self._all():
            watch.take_in(report)

    def stop(self) -> None:
        """Stop all: there will be no more epochs."""
        for watch in self._all():
            watch.stop()

    def _all(self) -> list[Watch]:
        with self._changing:
            return list(self._held)
