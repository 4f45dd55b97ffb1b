"""`windrow query`: the queries of a home, added, listed, resumed and dropped, whether an engine runs there or
not."""

from __future__ import annotations

from typing import IO

import click

from windrow.cli.statements import read_statements
from windrow.cli.status_tables import query_list, request_list
from windrow.cli.terminal import answers_console, messages_console, status

waiting = click.option(
    "--wait/--no-wait",
    default=True,
    help="Wait for the answer of the engine that runs on the home (the default), or leave the request there.",
)


@click.group(short_help="Add, list, resume or drop the queries of a home.")
def query() -> None:
    """The queries of a home: they may come and go while an engine runs on it.

    \b
      windrow query list hot-home                   what there is, and how each is doing
      windrow query add hot-home daily 'SELECT …'   one more
      windrow query resume hot-home daily           let one that failed go on
      windrow query drop hot-home daily             forget one
    """


@query.command(name="list", short_help="Show the queries of a home.")
@click.argument("home", type=click.Path())
def list_queries(home: str) -> None:
    """Show the queries of the home in directory HOME: stream, condition, answers, SQL.

    \b
      windrow query list hot-home

    A query waits for its first epoch, is active, and runs until its stream is sealed; then all its windows
    are answered. One that came when its stream had run answers the windows that begin after the rows it
    has not seen. One that fails is quarantined, with the reason: it no longer runs, and the others go on;
    `windrow query resume` lets it go on. One that was asked for and could not be added is refused. May be
    asked while an engine runs.
    """
    # Imported here: PyArrow takes a moment that `windrow --help` should not.
    from windrow.api.homes import home_status

    found = home_status(home)
    console = answers_console()
    if not found.queries and not found.requests:
        console.print("no queries")
    for part in [*query_list(found.queries), *request_list(found.requests)]:
        console.print(part)


@query.command(short_help="Add queries to a home.")
@click.argument("home", type=click.Path())
@click.argument("name", required=False)
@click.argument("sql", required=False)
@click.option(
    "-f",
    "--file",
    type=click.File("rb"),
    help="CREATE QUERY statements, to be added all or none; - reads them.",
)
@click.option("--retain", metavar="DURATION", help='Keep its answers this long, such as "30 days".')
@waiting
def add(
    home: str, name: str | None, sql: str | None, file: IO[bytes] | None, retain: str | None, wait: bool
) -> None:
    """Add the query NAME, which is one SELECT, to the home in directory HOME; or those of a file.

    \b
      windrow query add hot-home daily 'SELECT AVG(value) FROM readings [RANGE 1 DAY SLIDE 1 HOUR]'
      windrow query add hot-home daily 'SELECT …' --retain "30 days"
      windrow query add hot-home -f more.cql

    An engine that runs on the home takes it up before its next epoch, without a pause for the others, or
    says what is wrong with it. It answers the windows that begin after the rows that had come by then. If
    no engine runs, the query waits for the next one; `windrow query list` shows it.
    """
    if file is None and (name is None or sql is None):
        raise click.UsageError("give a NAME and a SELECT, or a file with -f")
    if file is not None and (name is not None or sql is not None or retain is not None):
        raise click.UsageError(
            "with -f, names and RETAIN stand in the file: CREATE QUERY daily RETAIN … AS …"
        )
    from windrow.api.clients import add_queries, named_query, queries_in

    if file is not None:
        queries = queries_in(read_statements(file))
    else:
        queries = [named_query(name or "", sql or "", retain)]
    with status("waiting for the engine …"):
        done = add_queries(home, queries, wait=wait)
    for added in queries:
        answers_console().print(f"{done} {added.name}", markup=False)
    if done == "kept":
        messages_console().print(f"no engine is running on {home}; the next one to run adds what was kept")


@query.command(short_help="Let queries go on that have failed.")
@click.argument("home", type=click.Path())
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@waiting
def resume(home: str, names: tuple[str, ...], wait: bool) -> None:
    """Take the queries NAME... of the home in directory HOME out of quarantine.

    \b
      windrow query resume hot-home daily

    An engine that runs on the home has them again from its next epoch on; if none runs, the next one has.
    What a query missed meanwhile it does not answer: `windrow query list` says from when on it is complete.
    Over a static DataFrame it begins again, without the answers that it gave before. All are resumed, or
    none if one of them is not in quarantine, or its stream is sealed.
    """
    from windrow.api.clients import resume_queries

    with status("waiting for the engine …"):
        done = resume_queries(home, names, wait=wait)
    for name in names:
        answers_console().print(
            f"{done} {name}" if done == "resumed" else f"asked to resume {name}", markup=False
        )


@query.command(short_help="Forget queries of a home.")
@click.argument("home", type=click.Path())
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@waiting
def drop(home: str, names: tuple[str, ...], wait: bool) -> None:
    """Forget the queries NAME... of the home in directory HOME, their state and their answers.

    \b
      windrow query drop hot-home daily
      windrow query drop hot-home daily hourly

    An engine that runs on the home goes on with the others. All are dropped, or none if there is no such
    query. To begin a query again, or to change it: drop it, then add it anew.
    """
    from windrow.api.clients import drop_queries

    with status("waiting for the engine …"):
        done = drop_queries(home, names, wait=wait)
    for name in names:
        answers_console().print(
            f"{done} {name}" if done == "dropped" else f"asked to drop {name}", markup=False
        )
