"""`windrow explain`: the plan of a file's queries."""

from __future__ import annotations

from typing import IO

import click

from windrow.cli.session import engine
from windrow.cli.statements import read_statements, statements_file


@click.command(short_help="Show how the queries of a file would be computed.")
@statements_file
@click.option("--sql", is_flag=True, help="Also show the statements that Spark runs, a pass each.")
@click.option(
    "--costs",
    type=click.Path(exists=True, dir_okay=False),
    help="Choose algorithms by this table: HOME/costs.json, as windrow calibrate writes it.",
)
def explain(file: IO[bytes], sql: bool, costs: str | None) -> None:
    """Show how the queries of FILE would be computed, and run nothing.

    \b
      windrow explain delays.cql
      windrow explain --sql delays.cql

    A pass is one scan of each batch, in Spark; queries with the same WHERE and GROUP BY share it, whatever
    their windows. Below it stand its queries, with their operators, the slices that their windows
    are put together from, and the algorithm that does it.

    The streams and tables that FILE declares must exist, since Spark types the queries. FILE may be -
    for standard input.
    """
    text = read_statements(file)
    with engine() as eng:
        eng.execute(text)
        click.echo(eng.explain(sql=sql, costs=costs))
