"""The JVM's classes in an archive, from which Spark starts in two thirds of the time.

Most of what a Spark that has just started does is finding, verifying and laying out some fifteen thousand
classes. The JVM can write them down as they are in memory and map them the next time. It checks by itself
that the archive belongs to this Java and to these jars, and starts as ever if not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import WindrowError
from windrow.runtime.home.durable import force

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LAUNCH_OPTIONS = "SPARK_SUBMIT_OPTS"
"""The variable from which Spark's launcher takes options for the JVM, besides those of spark.driver.*."""
QUIET = "-Xlog:disable -Xlog:all=warning:stderr -Xlog:cds*=off:stderr -Xlog:class*=off:stderr"
"""An archive that does not fit is not worth a word."""


def archive_path() -> Path:
    """Where the archive is: in the Python environment, which has the jars and is thrown away with them."""
    return Path(sys.prefix) / "share" / "windrow" / "spark.jsa"


def options_with(archive: Path) -> str:
    """JVM options that use an archive."""
    return f'"-XX:SharedArchiveFile={archive}" {QUIET}'


@contextmanager
def launching(options: str) -> Iterator[None]:
    """Let a JVM that is launched now have these options; those that the user has set have the last word."""
    before = os.environ.get(LAUNCH_OPTIONS)
    os.environ[LAUNCH_OPTIONS] = f"{options} {before}" if before else options
    try:
        yield
    finally:
        if before is None:
            del os.environ[LAUNCH_OPTIONS]
        else:
            os.environ[LAUNCH_OPTIONS] = before


def write_archive(archive: Path, rehearsal: Sequence[str]) -> None:
    """Archive the classes that a Python program needs of Spark; it must end the JVM and wait for it."""
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        draft = archive.with_name(f"{archive.name}.{os.getpid()}")
        with launching(f'"-XX:ArchiveClassesAtExit={draft}" {QUIET}'):
            done = subprocess.run([sys.executable, *rehearsal], capture_output=True, text=True, check=False)
        try:
            if done.returncode != 0 or not draft.exists():
                raise WindrowError(
                    f"Spark's classes could not be archived: {done.stderr.strip() or 'this Java wrote none'}"
                )
            force(draft)
            draft.replace(archive)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise WindrowError(f"{archive} cannot be written: {error.strerror}") from error
