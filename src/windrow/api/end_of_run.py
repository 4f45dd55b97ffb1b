"""What is said at the end of a run: which queries are quarantined, which rows dead, which sinks behind."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from windrow.errors import MostlyDead, QueryFailed, WindrowError
from windrow.runtime.epochs.dead_reasons import COME_AGAIN
from windrow.runtime.logs import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from windrow.logical import Stream
    from windrow.runtime.epochs.dead_reasons import DeadOfRun
    from windrow.runtime.state.queries import RunningQuery

    DeadRows = Callable[[], Iterable[DeadOfRun]]


def say_what_went_wrong(
    queries: Sequence[RunningQuery], dead_rows: DeadRows, stream: Callable[[str], Stream]
) -> None:
    """At the end of a bounded run, when everything that could be done has been.

    A query that an earlier run quarantined has answered nothing in this one either, so that is said
    again, at the end of every run, until somebody resumes or drops it. So is why rows are dead; if most
    are, the run has failed, unless MAX DEAD says how many may be.
    """
    behind = [query for query in queries if query.sink_error is not None]
    stored = [query.stored for query in queries]
    failed = [query for query in stored if query.quarantined is not None]
    if failed:
        told = "\n".join(
            f"{query.name}: {query.quarantined} (since epoch {query.quarantined_epoch})" for query in failed
        )
        one = "it is" if len(failed) == 1 else "they are"
        others = [query.name for query in stored if query.quarantined is None]
        rest = f"; the others are answered ({', '.join(others[:5])}{', …'[: 3 * (len(others) > 5)]})"
        name = failed[0].name
        warn_of_dead_rows(dead_rows)
        raise QueryFailed(
            "\n".join(
                [
                    f"{told}\n{one} quarantined{rest if others else ''}",
                    f"eng.resume('{name}') lets it run again, eng.drop('{name}') forgets it",
                    *map(_told_of_sink, behind),
                ]
            )
        )
    mostly_dead = []
    for dead in dead_rows():
        if dead.most and stream(dead.stream).max_dead is None:
            mostly_dead.append(dead)
        else:
            _warn(dead)
    if mostly_dead:
        raise MostlyDead("\n".join([*map(str, mostly_dead), COME_AGAIN, *map(_told_of_sink, behind)]))
    if behind:
        raise WindrowError("\n".join(map(_told_of_sink, behind))) from behind[0].sink_error


def warn_of_dead_rows(dead_rows: DeadRows) -> None:
    """Say why rows have been dead, where something else is to be said: it does not fail for that."""
    with suppress(Exception):
        for dead in dead_rows():
            _warn(dead)


def _told_of_sink(query: RunningQuery) -> str:
    kind = type(query.sink_error).__name__
    return (
        f"the sink of query '{query.stored.name}' failed: {kind}: {query.sink_error}\nits answers are "
        "committed, and the next run gives it those that it has not had"
    )


def _warn(dead: DeadOfRun) -> None:
    event(
        logging.WARNING, "dead_reasons", "%(told)s",
        told=str(dead), stream=dead.stream, rows=dead.rows, dead=dead.dead, reasons=dead.reasons,
    )  # fmt: skip
