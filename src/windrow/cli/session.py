"""An engine for a command, with Spark's chatter kept out of the terminal.

The JVM writes to the standard error that it was born with, and would write across a live display. It
gets a log file instead, which is shown only when Spark does not start. What Windrow itself warns of is
shown.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import click

import windrow
from windrow.cli.terminal import status
from windrow.errors import WindrowError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def engine(
    home: str | os.PathLike[str] | None = None, optimizer: str | None = None, nodes: int | None = None
) -> Iterator[windrow.Engine]:
    """An engine, closed at the end; Spark is started if it is not running."""
    with tempfile.TemporaryFile(prefix="windrow-spark-", suffix=".log") as log:
        with status("starting Spark …"):
            opened = _open(home, optimizer, nodes, log)
        with opened, _warnings_shown():
            yield opened


def _open(
    home: str | os.PathLike[str] | None, optimizer: str | None, nodes: int | None, log: IO[bytes]
) -> windrow.Engine:
    try:
        with _standard_error_to(log):
            return windrow.Engine(home, optimizer=optimizer, nodes=nodes)
    except WindrowError:
        raise
    except Exception as error:
        log.seek(0)
        said = log.read().decode(errors="replace").strip()
        raise WindrowError(
            f"Spark did not start: {error}\n{said}\n"
            "Windrow needs Java 17 or 21: put its `java` on PATH, or set JAVA_HOME to its directory"
        ) from error


class _Shown(logging.Handler):
    """Prints records for people."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one, past whatever stands on standard error: a live display lets `sys.stderr` through."""
        colour = "red" if record.levelno >= logging.ERROR else "yellow"
        click.secho(f"{record.levelname.lower()}: {record.getMessage()}", fg=colour, err=True)


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Show what the engine warns of, also where its log goes to a file."""
    log, shown = logging.getLogger("windrow"), _Shown(logging.WARNING)
    log.addHandler(shown)
    try:
        yield
    finally:
        log.removeHandler(shown)


@contextmanager
def _standard_error_to(log: IO[bytes]) -> Iterator[None]:
    """Let processes that are started now write their standard error to the log, for as long as they live."""
    sys.stderr.flush()
    terminal = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
