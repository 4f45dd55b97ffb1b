"""`windrow calibrate`: measure the final aggregators on this machine, for the planner of a home."""

from __future__ import annotations

import time

import click

from windrow.cli.terminal import is_interactive, messages_console


@click.command(short_help="Measure this machine, so that the planner of a home chooses by it.")
@click.argument("home", type=click.Path(file_okay=False))
@click.option("--quick", is_flag=True, help="Few window lengths, measured once: seconds instead of minutes.")
def calibrate(home: str, quick: bool) -> None:
    """Measure what a slide costs with each final aggregator, and keep the table in HOME.

    The planner takes the cheapest algorithm that an aggregate's algebra admits, by a table of measured
    costs. Windrow comes with one; this one is of your machine. It takes a minute or two, needs no Spark,
    and holds for engines that start on HOME from then on. Other work on the machine spoils it.

    \b
      windrow calibrate delays-home
    """
    # Imported here: Numba takes a moment that `windrow --help` should not.
    from windrow.api.calibrate import calibrate_home

    began = time.monotonic()
    if is_interactive():
        with messages_console().status("measuring …") as spinner:
            path = calibrate_home(home, lambda name: spinner.update(f"measuring {name} …"), quick=quick)
    else:
        path = calibrate_home(home, lambda name: click.echo(f"measuring {name}", err=True), quick=quick)
    click.echo(f"measured in {time.monotonic() - began:.0f} s: {path}")
    click.echo(f"`windrow explain FILE --costs {path}` shows what the planner makes of it.")
