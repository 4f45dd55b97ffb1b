"""`windrow view`: the answer of a query at an instant, from what is committed."""

from __future__ import annotations

import click

from windrow.cli.terminal import counted, instant, messages_console, print_answers


@click.command(short_help="Show the answer of a query at an instant.")
@click.argument("home", type=click.Path())
@click.argument("query")
@click.option(
    "--at",
    metavar="T",
    help='The instant, such as "2024-01-31 12:00" (UTC) or 2024-01-31T12:00:00+01:00. By default the last '
    "one up to which the query is answered.",
)
def view(home: str, query: str, at: str | None) -> None:
    """Show the answer of QUERY, in the home in directory HOME, at an instant of event time.

    \b
      windrow view hot-home open                            up to where it is answered
      windrow view hot-home open --at "2024-01-31 12:00"    as it was then

    Of a query without SLIDE these are the rows that have come by then, and have neither ended nor been taken
    back; of one with SLIDE, the last evaluation so far. That is final: where rows may still come, it says so.
    What RETAIN has let go is gone. May be asked while an engine runs.
    """
    # Imported here: PyArrow takes a moment that `windrow --help` should not.
    from windrow.api.homes import home_view
    from windrow.api.watching import in_order

    found = home_view(home, query, at)
    print_answers(in_order(found.answer))
    messages_console().print(
        f"{query}: {counted(len(found.answer), 'row')} at {instant(found.at)}",
        markup=False, style="dim", soft_wrap=True,
    )  # fmt: skip
