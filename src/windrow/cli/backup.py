"""`windrow backup`: a copy of a home, of one moment, while an engine may be running on it."""

from __future__ import annotations

import click
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from windrow.cli.terminal import answers_console, counted, is_interactive, messages_console


@click.command(short_help="Copy a home, also while an engine runs on it.")
@click.argument("home", type=click.Path())
@click.argument("target", type=click.Path())
def backup(home: str, target: str) -> None:
    """Copy the home in directory HOME to TARGET, a directory that is new or empty.

    \b
      windrow backup hot-home /backups/hot-home-monday
      windrow run hot.cql --home /backups/hot-home-monday     goes on from that moment

    The copy is of one moment, and every file in it is compared with its checksum. An engine may be running
    on the home, and goes on. A copy by other means (cp, rsync) is only good while none is: its catalog and
    Spark's record of the streams would be of different moments, and an engine refuses such a home.

    A home does not have the files of its streams: to go on, the copy needs them where they were.
    """
    # Imported here: PyArrow takes a moment that `windrow --help` should not.
    from windrow.api.homes import back_up_home

    columns = TextColumn("copying"), BarColumn(), DownloadColumn()
    with Progress(
        *columns, console=messages_console(), transient=True, disable=not is_interactive()
    ) as shown:
        bar = shown.add_task("copying", total=None)
        count = back_up_home(home, target, lambda done, total: shown.update(bar, completed=done, total=total))
    answers_console().print(f"{target} is a copy of {home}: {counted(count, 'file')}", markup=False)
