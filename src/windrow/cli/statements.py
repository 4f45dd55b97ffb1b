"""The .cql file that `run` and `explain` are given."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import click

from windrow.errors import WindrowError

if TYPE_CHECKING:
    from collections.abc import Callable

statements_file: Callable[[Any], Any] = click.argument("file", type=click.File("rb"))
"""The FILE argument; "-" is standard input. A file that cannot be opened is a usage error."""


def name_of(file: IO[bytes]) -> str:
    """The file as it was given; "-" for standard input."""
    name = getattr(file, "name", "-")
    return "-" if name == "<stdin>" else str(name)


def read_statements(file: IO[bytes]) -> str:
    """The text of the file."""
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WindrowError(f"{name_of(file)} is not UTF-8 text (byte {error.start}); is it .cql?") from error
