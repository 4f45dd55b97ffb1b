"""`windrow run`: the statements of a file, over what is there or over what comes."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from threading import Event
from typing import IO, TYPE_CHECKING

import click
from rich.markup import escape

from windrow.cli.progress import RunProgress
from windrow.cli.session import engine
from windrow.cli.statements import read_statements, statements_file
from windrow.cli.terminal import counted, messages_console, print_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import windrow


@click.command(short_help="Run the queries of a file over its streams.")
@statements_file
@click.option(
    "--home",
    type=click.Path(file_okay=False),
    help="Keep answers and state in this directory, and go on from what it holds. Without it, only what "
    "is printed stays.",
)
@click.option(
    "--until-end/--forever",
    "until_end",
    default=True,
    help="Stop when all files have been read, and answer the windows that are still open (the default); or "
    "wait for more files until Ctrl-C.",
)
@click.option(
    "--seal/--no-seal",
    default=True,
    help="With --until-end: seal the streams, so that all windows are answered and later files are late; or "
    "stop at the watermark, so that a later run goes on from there.",
)
@click.option(
    "--trigger", metavar="DURATION", help="With --forever: look for files this often.  [default: 1 second]"
)
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many answers of an unnamed query to print: the latest ones; 0 prints all.",
)
def run(
    file: IO[bytes], home: str | None, until_end: bool, seal: bool, trigger: str | None, rows: int
) -> None:
    """Run the statements of FILE: declare its streams and tables, compute its queries.

    \b
      -- hot.cql
      CREATE STREAM readings (ts TIMESTAMP, sensor STRING, value DOUBLE)
        FROM CSV 'readings/' OPTIONS (header 'true') TIMESTAMP ts DELAY 30 SECONDS;
      SELECT sensor, MAX(value) AS hottest
      FROM readings [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY sensor;
      CREATE QUERY daily AS
        SELECT AVG(value) AS mean FROM readings [RANGE 1 DAY SLIDE 1 HOUR];

    \b
      windrow run hot.cql                             compute, print, done
      windrow run hot.cql --home hot-home --forever   keep computing, keep the answers
      windrow run - < hot.cql                         statements from standard input

    The answers of a bare SELECT are printed at the end; those of a named query (CREATE QUERY … AS) stay in
    the home, to be read from Python. Answers go to standard output, everything else to standard error.
    Paths in FILE are relative to the current directory.

    A run until the end seals its streams: in the same home, whatever comes later is late. To go on
    later, run with --no-seal, or with --forever.
    """
    if until_end and trigger is not None:
        raise click.UsageError("--trigger goes with --forever: a run until the end takes what is there")
    text = read_statements(file)
    with engine(home) as eng:
        eng.execute(text)
        progress = RunProgress(eng.queries, hint="" if until_end else "; Ctrl-C stops")
        eng.on_epoch = progress
        with progress:
            if until_end:
                eng.run(seal=seal)
            else:
                run_forever(eng, trigger or "1 second")
        messages_console().print(progress.summary())
        show_unnamed(eng, rows)
        show_named(eng, progress, home)


def run_forever(eng: windrow.Engine, trigger: str) -> None:
    """Process rows as they come, until Ctrl-C (or a polite kill), or until a stream fails."""
    with stop_signals() as stopped, eng.start(trigger=trigger) as live:
        while live.active and not stopped.is_set():
            stopped.wait(0.2)
        if not stopped.is_set():
            live.wait(1)  # raises what stopped it


@contextmanager
def stop_signals() -> Iterator[Event]:
    """An event that SIGINT and SIGTERM set, in place of Spark's own handler, which would cancel the batch
    that is under way. A second one interrupts at once."""
    stopped = Event()

    def stop(number: int, _: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show_unnamed(eng: windrow.Engine, rows: int) -> None:
    """The latest answers of the queries that have no name."""
    for name in eng.unnamed_queries:
        answers = eng.results(name)
        total = answers.count()
        columns = [f"`{column.replace('`', '``')}`" for column in answers.columns]
        if rows and total > rows:
            last = answers.orderBy(columns, ascending=False).limit(rows)
            note = f"the last {rows:,} of {total:,} answers; --rows 0 prints all"
        else:
            last, note = answers, counted(total, "answer")
        print_answers(last.orderBy(columns).toArrow())
        messages_console().print(f"[dim]{name}: {note}[/dim]")


def show_named(eng: windrow.Engine, progress: RunProgress, home: str | None) -> None:
    """One line a named query, and how to read its answers."""
    named = [name for name in eng.queries if name not in eng.unnamed_queries]
    if not named:
        return
    console = messages_console()
    for name in named:
        totals = progress.totals[name]
        until = f", until {totals.last}" if totals.answers else ""
        console.print(f"[cyan]{name}[/cyan]: {counted(totals.answers, 'new answer')}{until}")
    if home is None:
        console.print("[dim]their home was temporary; to keep them, run with --home DIR[/dim]")
        return
    console.print(
        f"read them in Python: windrow.Engine({escape(repr(home))}).results({named[0]!r}).show()",
        soft_wrap=True,
    )
