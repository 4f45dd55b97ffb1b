"""`windrow`: the group of commands, and what becomes of errors.

Exit codes: 0 for success, 1 for an error that Windrow explains (on stderr, without a traceback), 2 for
a wrong use of the command line.
"""

from __future__ import annotations

from typing import Any

import click

import windrow
from windrow.cli.backup import backup
from windrow.cli.calibrate import calibrate
from windrow.cli.check import check
from windrow.cli.demo.command import demo
from windrow.cli.explain import explain
from windrow.cli.query import query
from windrow.cli.run import run
from windrow.cli.status import status
from windrow.cli.view import view
from windrow.cli.warm import warm
from windrow.errors import WindrowError


class Failure(click.ClickException):
    """A WindrowError on its way to the user."""

    def show(self, file: Any = None) -> None:
        """Print the message in red. A caret under the offending text stays where it belongs."""
        click.secho(f"error: {self.message}", fg="red", err=True)


class Commands(click.Group):
    """Commands whose WindrowErrors are messages, not tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WindrowError as error:
            raise Failure(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(windrow.__version__, prog_name="windrow")
def main() -> None:
    """Sliding-window queries over data streams, on Apache Spark.

    Statements live in a .cql file: streams, tables, and queries over windows of streams.

    \b
      -- delays.cql
      CREATE STREAM flights FROM PARQUET 'flights/' TIMESTAMP ts DELAY 10 MINUTES;
      SELECT origin, AVG(dep_delay) AS delay
      FROM flights [RANGE 6 HOURS SLIDE 5 MINUTES] GROUP BY origin;

    Every 5 minutes of event time, the query gives the mean delay over the 6 hours before.

    \b
      windrow demo                 see it work, on a year of real flights
      windrow explain delays.cql   how the queries would be computed
      windrow run delays.cql       compute them over the files that are there

    \b
      windrow run delays.cql --home delays-home --forever    keep computing
      windrow status delays-home                             how that is going
      windrow query list delays-home                         its queries; add and drop, too
      windrow view delays-home delays                        what a query answers, now or earlier
      windrow backup delays-home copies/delays-home          a copy of it, while it runs

    \b
      windrow warm                 once, and Spark starts faster from then on
      windrow calibrate HOME       measure this machine, for the planner
      windrow check FILE.py        try aggregates of your own
    """


main.add_command(demo)
main.add_command(run)
main.add_command(explain)
main.add_command(status)
main.add_command(query)
main.add_command(view)
main.add_command(backup)
main.add_command(warm)
main.add_command(calibrate)
main.add_command(check)
