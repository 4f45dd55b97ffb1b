"""Sinks: callbacks that get committed answers, in the order of epochs, at least once each.

A sink that raises holds nothing up. It is given what it missed, from the result files, with the next
epoch or run; the number of the epoch, which never changes, makes an idempotent sink easy.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.runtime.home.results import answers_since
from windrow.runtime.logs import event

if TYPE_CHECKING:
    from windrow.runtime.home.home import Home
    from windrow.runtime.state.queries import RunningQuery


def catch_up(home: Home, query: RunningQuery) -> None:
    """Give a sink what was committed while it was away; a new one begins with what comes."""
    if query.sink is None:
        return
    if query.stored.delivered is None:
        query.stored, query.behind = replace(query.stored, delivered=home.catalog.last_epoch()), False
    else:
        _deliver_backlog(home, query)


def deliver(home: Home, query: RunningQuery, epoch: int, answers: list[pa.Table]) -> None:
    """Give a sink the answers of an epoch that has been committed, and before them what it missed."""
    if query.stored.delivered is None:  # it came while the epoch was under way, and begins with the next
        query.stored = replace(query.stored, delivered=epoch)
    elif query.behind:
        _deliver_backlog(home, query)
    elif not answers or _call(query, epoch, answers):
        query.stored = replace(query.stored, delivered=epoch)


def _deliver_backlog(home: Home, query: RunningQuery) -> None:
    assert query.stored.delivered is not None
    for epoch, answers in answers_since(home, query.stored, query.stored.delivered):
        if not _call(query, epoch, [answers]):
            return
        query.stored = replace(query.stored, delivered=epoch)
    query.behind, query.sink_error = False, None


def _call(query: RunningQuery, epoch: int, answers: list[pa.Table]) -> bool:
    """Call a sink; whether it took the answers.

    Whatever it raises is its own failure, `sys.exit()` and its kind too: they would end a thread of ours, or
    of Spark's, and with it the stream. Only Ctrl-C is meant for the whole process.
    """
    assert query.sink is not None
    try:
        query.sink(epoch, pa.concat_tables(answers))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        query.behind, query.sink_error = True, error
        event(
            logging.WARNING, "sink_failed",
            "the sink of query '%(query)s' failed (%(kind)s: %(reason)s); its answers are kept and come "
            "again with the next epoch",
            query=query.stored.name, kind=type(error).__name__, reason=str(error),
            delivered=query.stored.delivered, error=error,
        )  # fmt: skip
        return False
    return True
