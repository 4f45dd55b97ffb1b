"""`windrow check`: whether aggregates of users' own keep the laws that windows rely on."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import click

from windrow.errors import WindrowError, suggestion


@click.command(short_help="Check aggregates of your own.")
@click.argument("target", metavar="FILE.py[:CLASS]")
@click.option(
    "--examples", type=click.IntRange(min=1), default=200, show_default=True, help="Tried for each law."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Other examples.")
def check(target: str, examples: int, seed: int) -> None:
    """Check that the aggregates of FILE.py keep the laws that windows rely on.

    \b
      windrow check harmonic_mean.py
      windrow check statistics.py:HarmonicMean

    Every class of windrow.OwnAggregate is tried on numbers of all sorts; one whose argument is no number
    says what it may be:

    \b
      class Words(windrow.OwnAggregate):
          examples = ["a", "b", ""]          # simplest first

    A law that is broken is named with the smallest example against it, and the exit code is 1. No Spark is
    started, but FILE.py is run.
    """
    # Imported here: Numba takes a moment that `windrow --help` should not.
    from windrow.checks import check as run_check

    file, _, wanted = target.partition(":")
    reports = [
        run_check(cls, getattr(cls, "examples", None), examples=examples, seed=seed)
        for cls in own_aggregates(file, wanted)
    ]
    click.echo("\n\n".join(map(str, reports)))
    broken = [report.subject for report in reports if not report]
    if broken:
        raise WindrowError(f"{', '.join(broken)} would give wrong answers")


def own_aggregates(file: str, wanted: str) -> list[Any]:
    """The classes of a file, or the one that is wanted."""
    if not Path(file).is_file():
        raise WindrowError(f"there is no file {file}")
    try:
        names = runpy.run_path(file)
    except Exception as error:
        raise WindrowError(f"{file} cannot be run: {type(error).__name__}: {error}") from error
    import windrow

    classes = {
        name: value
        for name, value in names.items()
        if isinstance(value, type)
        and issubclass(value, windrow.OwnAggregate)
        and value.__module__ == names["__name__"]
    }
    if not classes:
        raise WindrowError(f"{file} has no class of windrow.OwnAggregate")
    if wanted and wanted not in classes:
        hint = suggestion(wanted, classes) or f"there are {', '.join(classes)}"
        raise WindrowError(f"{file} has no aggregate '{wanted}'; {hint}")
    return [classes[wanted]] if wanted else list(classes.values())
