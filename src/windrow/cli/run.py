"""`windrow run`: the statements of a file, over what is there or over what comes."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING

import click
from rich.markup import escape
from rich.text import Text

from windrow.api.watching import CHANGES, are_changes, reading_order
from windrow.cli.progress import QueryTotals, RunProgress
from windrow.cli.session import engine
from windrow.cli.signals import stop_signals
from windrow.cli.statements import read_statements, statements_file
from windrow.cli.terminal import counted, messages_console, print_answers
from windrow.errors import MostlyDead, QueryFailed

if TYPE_CHECKING:
    import windrow
    from windrow.cli.signals import Stop

INTERRUPTED = 130
"""The exit code that shells give what Ctrl-C has ended."""
OPTIMIZERS = ("max_share", "tri_weave", "weave_share", "insert_then_weave", "no_share")
PLACEMENTS = (
    *("g_rand", "g_rr", "g_tl"),
    *("w_rand", "w_rr", "w_tl", "w_tn", "w_i"),
    *("wg_rand", "wg_rr", "wg_tl", "wg_tn", "wg_i"),
)
"""Spelled out: to ask the planner takes a moment that `windrow --help` should not."""


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
    help="Stop when all files have been read (the default), or wait for more files until Ctrl-C.",
)
@click.option(
    "--seal/--no-seal",
    default=None,
    help="With --until-end: answer the windows that are still open and seal the streams, so that later files "
    "are late (the default without --home); or stop at the watermark, so that a later run goes on from there "
    "(the default with --home).",
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
@click.option(
    "--optimizer",
    type=click.Choice((*OPTIMIZERS, *PLACEMENTS), case_sensitive=False),
    metavar="NAME",
    help="Let this optimizer plan which queries share their slices: max_share, tri_weave, weave_share, "
    "insert_then_weave, no_share; or, for windows that Spark tasks hold, one of the thirteen placements: "
    "w_tl, wg_tn, wg_i, … By default the cheapest plan that is found is taken.",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Let so many Spark tasks hold the windows; 1 leaves them to the driver. By default as many as "
    "there are cores take over where a batch takes seconds to answer.",
)
@click.option(
    "--metrics",
    type=click.IntRange(0, 65_535),
    metavar="PORT",
    help="While it runs, serve metrics for Prometheus at http://127.0.0.1:PORT/metrics; 0 takes a free port.",
)
@click.option(
    "--log",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Append to this file what happens, one JSON object a line.",
)
def run(
    file: IO[bytes],
    home: str | None,
    until_end: bool,
    seal: bool | None,
    trigger: str | None,
    rows: int,
    optimizer: str | None,
    nodes: int | None,
    metrics: int | None,
    log: str | None,
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
      windrow run hot.cql --home hot-home             keep the answers; go on with new files next time
      windrow run hot.cql --home hot-home --forever   keep computing
      windrow run - < hot.cql                         statements from standard input
      windrow run hot.cql --home hot-home --forever --metrics 9090 --log hot.log

    The answers of a bare SELECT are printed at the end; those of a named query (CREATE QUERY … AS) stay in
    the home, to be read from Python. Answers go to standard output, everything else to standard error.
    Paths in FILE are relative to the current directory.

    A query that fails is quarantined: the others go on, and it is named at the end, of later runs too. Rows
    that cannot be read are dead letters, and why is said at the end; if most of a stream's first ones are,
    nothing of it is taken in. Either is an error. `windrow status` shows how a home is doing.

    In a home, a run answers the windows that the watermark has passed, and the next run goes on with the
    files that have come since. With --seal it answers those that are still open too; whatever comes later
    is late.
    """
    if until_end and trigger is not None:
        raise click.UsageError("--trigger goes with --forever: a run until the end takes what is there")
    text = read_statements(file)
    if home is not None:
        from windrow.api.homes import check_that_none_runs

        check_that_none_runs(home)  # before Spark is started for nothing
    with ExitStack() as held:
        if log is not None:
            from windrow.api.homes import log_to

            held.enter_context(log_to(log))
        eng = held.enter_context(engine(home, optimizer, nodes))
        eng.execute(text)
        if metrics is not None:
            server = held.enter_context(eng.serve_metrics(metrics))
            messages_console().print(f"[dim]metrics: {server.url}[/dim]")
        progress = RunProgress(eng.queries, hint="" if until_end else "; Ctrl-C stops", status=eng.status)
        eng.on_epoch = progress
        failure: QueryFailed | MostlyDead | None = None
        with progress, stop_signals() as stopped:
            try:
                if until_end:
                    eng.run(seal=seal, stop=stopped.is_set)
                else:
                    run_forever(eng, trigger or "1 second", progress, stopped)
            except MostlyDead as error:
                if not progress.streams:
                    raise  # there is nothing to show
                failure = error
            except QueryFailed as error:
                failure = error  # the others have answered
        messages_console().print(progress.summary())
        if until_end and stopped.is_set():
            again = "" if home is None else "; what was being read is read again by the next run"
            messages_console().print(f"stopped{again}")
            raise click.exceptions.Exit(INTERRUPTED)
        show_unnamed(eng, rows)
        show_named(eng, progress, home)
        for stream in eng.waiting():
            messages_console().print(str(stream), markup=False, style="dim", soft_wrap=True)
        if isinstance(failure, MostlyDead):
            raise failure
        if failure is not None or quarantined(eng):
            raise QueryFailed(_to_do(eng, home) or str(failure)) from failure


def run_forever(eng: windrow.Engine, trigger: str, progress: RunProgress, stopped: Stop) -> None:
    """Process rows as they come, until Ctrl-C (or a polite kill), or until nothing is left to do."""
    check_that_one_runs(eng)
    with eng.start(trigger=trigger) as live:
        while live.active and not stopped.is_set():
            stopped.wait(0.2)
            if progress.any_quarantined:
                check_that_one_runs(eng)
        if not stopped.is_set():
            live.wait(1)  # raises what stopped it


def check_that_one_runs(eng: windrow.Engine) -> None:
    """An engine whose queries are all in quarantine would read on, for nothing."""
    failed = quarantined(eng)
    if failed and failed.keys() == {query.name for query in eng.status().queries}:
        reasons = "\n".join(f"{name}: {why}" for name, why in failed.items())
        raise QueryFailed(f"{reasons}\nno query is left to run; resume or drop them, and run again")


WITHOUT_ORDER = ("map<", "variant")
"""Types that Spark does not sort by."""


def show_unnamed(eng: windrow.Engine, rows: int) -> None:
    """The latest answers of the queries that have no name."""
    failed = quarantined(eng)
    for name in eng.unnamed_queries:
        if name in failed:
            continue
        answers = eng.results(name)
        total = answers.count()
        columns = [
            place + 1
            for place in reading_order(answers.columns)
            if not any(word in answers.schema[place].dataType.simpleString() for word in WITHOUT_ORDER)
        ]
        what = "change" if are_changes(answers.columns) else "answer"
        if rows and total > rows:
            last = answers.orderBy(columns, ascending=False).limit(rows)
            note = f"the last {rows:,} of {total:,} {what}s; --rows 0 prints all"
        else:
            last, note = answers, counted(total, what)
        print_answers(last.orderBy(columns).toArrow())
        messages_console().print(f"[dim]{name}: {note}[/dim]")
        if what == "change" and sys.stdout.isatty():
            messages_console().print(f"[dim]{CHANGES}[/dim]")


def show_named(eng: windrow.Engine, progress: RunProgress, home: str | None) -> None:
    """One line a named query, and how to read its answers."""
    named = [name for name in eng.queries if name not in eng.unnamed_queries]
    if not named:
        return
    console = messages_console()
    failed = quarantined(eng)
    for name in named:
        if name in failed:
            console.print(Text(f"{name}: quarantined", style="red"))
            continue
        totals = progress.totals.get(name, QueryTotals())
        until = f", until {totals.last}" if totals.answers else ""
        console.print(f"[cyan]{name}[/cyan]: {counted(totals.answers, 'new answer')}{until}")
    if home is None:
        console.print("[dim]their home was temporary; to keep them, run with --home DIR[/dim]")
        return
    readable = next((name for name in named if name not in failed), named[0])
    console.print(
        f"read them in Python: windrow.Engine({escape(repr(home))}).results({readable!r}).show()",
        soft_wrap=True,
    )


def _to_do(eng: windrow.Engine, home: str | None) -> str:
    """What a run says at its end of queries that failed, in it or before; why, it has said earlier on.
    Nothing if somebody has resumed them meanwhile."""
    failed = [query for query in eng.status().queries if query.quarantined is not None]
    if not failed:
        return ""
    rest = "no query is left to run" if len(failed) == len(eng.queries) else "the others are answered"
    since = ", ".join(f"{query.name} (since epoch {query.quarantined_epoch})" for query in failed)
    told = f"{since} failed and {'is' if len(failed) == 1 else 'are'} quarantined; {rest}"
    if home is None:
        return told
    name = failed[0].name
    return (
        f"{told}\nwindrow query list {home} says why; windrow query resume {home} {name} lets it run again, "
        f"windrow query drop {home} {name} forgets it"
    )


def quarantined(eng: windrow.Engine) -> dict[str, str]:
    """The queries that no longer run, and why."""
    return {q.name: q.quarantined for q in eng.status().queries if q.quarantined is not None}
