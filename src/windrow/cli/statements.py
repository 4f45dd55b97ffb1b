"""The .cql file that `run` and `explain` are given."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import click

from windrow.errors import WindrowError

if TYPE_CHECKING:
    from collections.abc import Callable

statements_file: Callable[[Any], Any] = click.argument("file", type=click.File("rb"))
"""The FILE argument; "-" is standard input. A file that cannot be opened is a usage error."""


def read_statements(file: IO[bytes]) -> str:
    """The text of the file."""
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WindrowError(f"{file.name} is not UTF-8 text (byte {error.start}); is it .cql?") from error
