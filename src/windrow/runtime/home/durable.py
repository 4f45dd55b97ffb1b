"""Files that survive: forced to disk before anything refers to them, and checked when they are read back."""

from __future__ import annotations

import mmap
import os
import uuid
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.errors import HomeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def new_path(home: Path, folder: str, epoch: int, suffix: str) -> Path:
    """A path that no file has had; the attempt is in the name, so a replay never meets its past."""
    path = home / folder / f"{epoch:09d}-{uuid.uuid4().hex[:8]}.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def force(path: Path) -> tuple[int, int]:
    """Force a file's bytes to disk; its size and checksum."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
        if not size:
            return 0, 0
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return size, zlib.crc32(content)


def force_directories(paths: Iterable[Path], top: Path) -> None:
    """Force the names of new files to disk: every directory from theirs up to `top`."""
    directories = {parent for path in paths for parent in path.parents if parent.is_relative_to(top)}
    for directory in directories:
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check(path: Path, size: int | None, checksum: int | None) -> None:
    """Raise a HomeError unless the file is what was written. None: not known."""
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        raise HomeError(f"{path} is missing; {_REMEDY}") from None
    if size is not None and found != size:
        raise HomeError(f"{path} has {found:,} bytes and was written with {size:,}; {_REMEDY}")
    if checksum is not None and force(path)[1] != checksum:
        raise HomeError(f"{path} is not what was written: its checksum differs; {_REMEDY}")


_REMEDY = "something other than Windrow changed the home; put the file, or the whole home, back from a copy"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what Arrow says about a broken file into an error that names it."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise HomeError(f"{path} cannot be read: {error}; {_REMEDY}") from error


def explained(error: BaseException) -> str:
    """An error of the disk or the database, with what to do about it.

    >>> explained(OSError(28, "No space left on device"))
    'no space left on device; free some, and start again: nothing is lost'
    """
    text = str(error.strerror if isinstance(error, OSError) and error.strerror else error)
    small = text[:1].lower() + text[1:]
    if "space left" in small or "disk is full" in small or "quota" in small:
        return f"{small}; free some, and start again: nothing is lost"
    if "readonly" in small or "read-only" in small or "permission" in small or "unable to open" in small:
        return f"{small}; an engine must be able to write there"
    if "malformed" in small or "not a database" in small:
        return f"{small}; catalog.db is damaged: put the home back from a copy"
    return small
