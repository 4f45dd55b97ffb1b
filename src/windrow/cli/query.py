"""`windrow query`: the queries of a home, listed and dropped."""

from __future__ import annotations

import click

from windrow.cli.status_tables import query_list
from windrow.cli.terminal import answers_console


@click.group(short_help="List or drop the queries of a home.")
def query() -> None:
    """The queries of a home.

    \b
      windrow query list hot-home           what there is, and how each is doing
      windrow query drop hot-home daily     forget one
    """


@query.command(name="list", short_help="Show the queries of a home.")
@click.argument("home", type=click.Path())
def list_queries(home: str) -> None:
    """Show the queries of the home in directory HOME: stream, condition, answers, SQL.

    \b
      windrow query list hot-home

    A query runs until its stream is sealed; then all its windows are answered. One that fails is
    quarantined, with the reason: it no longer runs, and the others go on. May be asked while an engine runs.
    """
    # Imported here: PyArrow takes a moment that `windrow --help` should not.
    from windrow.api.homes import home_status

    queries = home_status(home).queries
    console = answers_console()
    if not queries:
        console.print("no queries")
    for part in query_list(queries):
        console.print(part)


@query.command(short_help="Forget a query of a home.")
@click.argument("home", type=click.Path())
@click.argument("name")
def drop(home: str, name: str) -> None:
    """Forget the query NAME of the home in directory HOME, its state and its answers.

    \b
      windrow query drop hot-home daily

    Refused while an engine runs on the home; from Python, a running engine does it itself:
    eng.drop("daily"). To begin a query again, or to change it: drop it, then run it anew.
    """
    from windrow.api.homes import drop_query

    drop_query(home, name)
    answers_console().print(f"dropped {name}", markup=False)
