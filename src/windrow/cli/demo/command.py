"""`windrow demo`, the command: the order of events, and what is said about them.

1. Write the flights as Parquet files, a file a week.
2. Replay them through the queries of queries.cql, with a live board of the latest answers.
3. Draw the picture, from the answers.
4. Compute one of the queries again, by Windrow and by Spark's own window(), and compare.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from windrow.cli.session import engine
from windrow.cli.terminal import answers_console, status
from windrow.errors import WindrowError

if TYPE_CHECKING:
    import pandas as pd

    import windrow

QUERIES = Path(__file__).with_name("queries.cql")
PICTURE = "rolling-delays.png"
WEEKS = 53
"""Of which the last has one day."""
WEEKS_A_BATCH = 4


@click.command(short_help="See it work: a year of real flights, live in the terminal.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep everything in this new directory: picture, flights, statements, answers. Without it, only "
    "the picture stays, in ./windrow-demo.",
)
@click.option(
    "--weeks",
    type=click.IntRange(1, WEEKS),
    default=WEEKS,
    show_default=True,
    help="Replay only the first weeks of the year.",
)
@click.option("--no-native", is_flag=True, help="Leave out the comparison with Spark's own window().")
def demo(keep: Path | None, weeks: int, no_native: bool) -> None:
    """Replay the flights that left New York in 2013, and the weather, through eleven sliding-window queries.

    Shows the latest answers while it runs, then draws the rolling delays over the year, then computes one
    of the queries again, by Windrow and by Spark's own window(), compares every answer, and says how long
    each took. Takes a minute or two on two cores.

    \b
      windrow demo                   all of it
      windrow demo --weeks 8         a quick look
      windrow demo --keep flights    and then: windrow explain flights/queries.cql
    """
    output = keep or Path("windrow-demo")
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise WindrowError(f"{keep} is not empty; --keep wants a new directory")
    output.mkdir(parents=True, exist_ok=True)
    console = answers_console()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="windrow-demo-", ignore_cleanup_errors=True) as temporary:
        scratch = Path(temporary)
        replay(keep or scratch / "demo", output / PICTURE, weeks, None if no_native else scratch)
    if keep is not None:
        console.print(escape(f"kept in {keep}; try: windrow explain {keep / QUERIES.name}"), soft_wrap=True)
    console.print(f"[dim]{time.monotonic() - begun:.0f} s in all[/dim]")


def replay(place: Path, picture: Path, weeks: int, scratch: Path | None) -> None:
    """The four steps; `scratch` is where the comparison may write, None if there is to be none."""
    # Imported here: pandas and matplotlib take a second that `windrow --help` should not.
    from windrow.cli.demo import flights
    from windrow.cli.demo.board import Board
    from windrow.cli.demo.picture import draw

    console = answers_console()
    with status("writing the flights …"):
        count = flights.write(place, weeks)
    text = flights.statements(QUERIES, place, WEEKS_A_BATCH)
    (place / QUERIES.name).write_text(text, encoding="utf-8")
    with engine(place / "home") as eng:
        with status("planning the queries …"):
            names = eng.execute(text)
        console.print(
            f"{count:,} flights, {len(names)} queries: [bold]{escape(str(QUERIES))}[/bold]", soft_wrap=True
        )
        with Board(count) as board:
            eng.on_epoch = board
            eng.sink("departures", board.departures)
            eng.sink("in_fog", board.in_fog)
            eng.run(seal=True)
        answers = f"[green]{board.answers:,} answers[/green]"
        console.print(f"replayed {board.rows:,} flights in {board.seconds:.1f} s: {answers}")
        with status("drawing …"):
            day = eng.results("delays_24h").toPandas()
            draw(picture, eng.results("delays_7d").toPandas(), day)
        console.print(f"picture: [bold]{escape(str(picture))}[/bold]", soft_wrap=True)
        if scratch is not None:
            _compare(eng, place, scratch, day)


def _compare(eng: windrow.Engine, place: Path, scratch: Path, replayed: pd.DataFrame) -> None:
    from windrow.cli.demo import comparison

    console = answers_console()
    what = f"delays_24h [RANGE {comparison.RANGE} SLIDE {comparison.SLIDE}]"
    with status(escape(f"{what} once more, by Windrow, then by Spark …")):
        outcome = comparison.compare(eng, place, scratch, replayed)
    if outcome.differences:
        raise WindrowError("the answers differ from Spark's:\n" + "\n".join(outcome.differences))
    console.print(escape(f"{what} once more, against Spark's window():"))
    console.print(
        f"[green]answers equal: {outcome.rows:,} rows[/green]; Windrow {outcome.windrow_seconds:.1f} s, "
        f"Spark {outcome.spark_seconds:.1f} s: [bold]{outcome.verdict}[/bold]"
    )
