"""`windrow calibrate`: measure this machine, for the planner of a home."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from windrow.cli.session import engine
from windrow.cli.terminal import is_interactive, messages_console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from windrow.api.calibrate import MeasuredPrice


@click.command(short_help="Measure this machine, so that the planner of a home chooses by it.")
@click.argument("home", type=click.Path(file_okay=False))
@click.option("--quick", is_flag=True, help="Few sizes, measured once: seconds instead of minutes.")
def calibrate(home: str, quick: bool) -> None:
    """Measure what things cost on this machine, and keep the table in HOME.

    The planner takes the cheapest algorithm that an aggregate's algebra admits, by what a slide costs with
    each; and it lets queries share what is cheapest to share, by what a row, a partial, a final operation
    and a result cost. Windrow comes with a table; this one is of your machine. It takes a minute or two,
    and holds for engines that start on HOME from then on. Other work on the machine spoils it.

    \b
      windrow calibrate delays-home
    """
    # Imported here: Numba takes a moment that `windrow --help` should not.
    from windrow.api.calibrate import calibrate_home, make_home

    make_home(home)  # before Spark is started for nothing
    began = time.monotonic()
    with engine() as eng, progress() as tell:
        path, prices = calibrate_home(home, eng.spark, tell, quick=quick)
    click.echo(f"measured in {time.monotonic() - began:.0f} s: {path}")
    for price in prices:
        click.echo(price_line(price))
    click.echo(f"`windrow explain FILE --costs {path}` shows what the planner makes of it.")


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """What tells people what is being measured."""
    if not is_interactive():
        yield lambda name: click.echo(f"measuring {name}", err=True)
        return
    with messages_console().status("measuring …") as spinner:
        yield lambda name: spinner.update(f"measuring {name} …")


def price_line(price: MeasuredPrice) -> str:
    """What shared plans are priced by, for people.

    >>> from windrow.api.calibrate import MeasuredPrice
    >>> print(price_line(MeasuredPrice("one more pass over a row", 71.4, 60.0)))
      one more pass over a row      71 ns (60 as shipped)
    >>> print(price_line(MeasuredPrice("one final operation", None, 10.0)))
      one final operation           lost in noise; 10 ns as shipped
    """
    if price.measured is None:
        return f"  {price.what:<24}  lost in noise; {price.shipped:,.0f} ns as shipped"
    return f"  {price.what:<24} {price.measured:>7,.0f} ns ({price.shipped:,.0f} as shipped)"
