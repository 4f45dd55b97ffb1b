"""`windrow status`: how a home is doing, whether an engine runs on it or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
from rich.live import Live

from windrow.cli.signals import stop_signals
from windrow.cli.status_tables import status_picture
from windrow.cli.terminal import answers_console

if TYPE_CHECKING:
    from windrow.api.homes import Status

EVERY_SECONDS = 1.0


@click.command(short_help="Show how a home is doing: streams, queries, disk.")
@click.argument("home", type=click.Path())
@click.option(
    "--json", "as_text", is_flag=True, help="Print it as JSON: instants in ISO 8601, durations in seconds."
)
@click.option("--watch", is_flag=True, help="Show it anew every second, until Ctrl-C.")
def status(home: str, as_text: bool, watch: bool) -> None:
    """Show how the home in directory HOME is doing: its streams, its queries, its files.

    \b
      windrow status hot-home            once
      windrow status hot-home --watch    every second, until Ctrl-C
      windrow status hot-home --json | jq .streams

    Says what is committed, and may be asked while an engine runs. Rows are those that came, the late
    and the dead ones among them; rows/s is over the last minute; lag is how far the watermark is behind
    the clock; epoch is how long the last one took. A query holds entries: partial aggregates, one a slice
    and group. One that failed is quarantined: it no longer runs, the others do.
    """
    # Imported here: PyArrow takes a moment that `windrow --help` should not.
    from windrow.api.homes import home_status

    if not watch:
        show(home_status(home), as_text=as_text)
        return
    console = answers_console()
    picture = Live(console=console, auto_refresh=False) if console.is_terminal and not as_text else None
    with stop_signals() as stopped:
        try:
            while True:
                now = home_status(home)
                if picture is None:
                    show(now, as_text=as_text, lines=True)
                else:
                    picture.start()
                    picture.update(status_picture(now), refresh=True)
                if stopped.wait(EVERY_SECONDS):
                    return
        finally:
            if picture is not None:
                picture.stop()


def show(now: Status, *, as_text: bool, lines: bool = False) -> None:
    """Print a status; with `lines`, JSON takes one line, so that one can follow another."""
    from windrow.api.homes import as_json

    if as_text:
        click.echo(json.dumps(as_json(now), ensure_ascii=False, indent=None if lines else 2))
    else:
        answers_console().print(status_picture(now))
