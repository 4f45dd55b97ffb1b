"""`windrow explain`: the plan of a file's or a home's queries, as text and as a picture."""

from __future__ import annotations

from typing import IO

import click

from windrow.cli.session import engine
from windrow.cli.statements import read_statements
from windrow.cli.terminal import messages_console


@click.command(short_help="Show how the queries of a file or a home are computed.")
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--home", type=click.Path(), help="Explain the queries of the home in this directory instead.")
@click.option(
    "--picture",
    type=click.Path(dir_okay=False),
    metavar="OUT",
    help="Also draw the plan: a page (.html), a picture (.svg, .png) or a graph (.dot).",
)
@click.option("--sql", is_flag=True, help="Also show the statements that Spark runs, a pass each.")
@click.option(
    "--costs",
    type=click.Path(exists=True, dir_okay=False),
    help="Choose algorithms and price trees by this table: HOME/costs.json, as windrow calibrate writes it.",
)
def explain(
    file: IO[bytes] | None, home: str | None, picture: str | None, sql: bool, costs: str | None
) -> None:
    """Show how the queries of FILE would be computed, or those of a home are, and run nothing.

    \b
      windrow explain delays.cql
      windrow explain --sql delays.cql
      windrow explain delays.cql --picture plan.html
      windrow explain --home delays-home

    First come the streams: their classes (queries with the same WHERE and GROUP BY) and trees (queries of a
    class that share their slices), with the edges and the cost of each, and what sharing saves. Of a home
    that has run, trees are shown as they are.

    A pass is one scan of each batch, in Spark. Below it stand its queries, if they are few, with their
    operators, the slices that their windows are put together from, and the algorithm that does it.

    The streams and tables that FILE declares must exist, since Spark types the queries. FILE may be -
    for standard input.
    """
    if (file is None) == (home is None):
        raise click.UsageError("give either a FILE or a --home")
    # Imported here: PyArrow takes a moment that `windrow --help` should not.
    from windrow.api.engine import check_ending
    from windrow.api.homes import existing

    if picture is not None:
        check_ending(picture)
    text = None if file is None else read_statements(file)
    with engine(None if home is None else existing(home)) as eng:
        if text is not None:
            eng.execute(text)
        plan = eng.explain(sql=sql, costs=costs)
    click.echo(plan)
    if picture is not None:
        plan.draw(picture)
        messages_console().print(f"drawn: {picture}", markup=False)
