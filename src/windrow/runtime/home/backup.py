"""Backup: a copy of a home as it is at one moment, also while an engine runs on it.

1. While the catalog is kept from changing, which takes some hundredths of a second: a copy of the catalog, of
   Spark's record of the streams, and links to all files that the catalog lists. An epoch that is about to
   commit waits for it.
2. The engine goes on. What was linked is copied, compared with its checksums and forced to disk; files never
   change once they are written, so that a link keeps what they were.
3. The copy's catalog comes last: without it, a copy that was interrupted is no home.

A plain copy of a home that runs may have a catalog of one moment and a record of another; an engine that
opens it finds that out, and refuses (`checkpoint_log.check_record`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from windrow.errors import HomeError
from windrow.runtime.home.durable import check, explained, force, force_directories
from windrow.runtime.home.lock import is_held
from windrow.runtime.home.records import FOLDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from windrow.runtime.home.catalog import Catalog
    from windrow.runtime.home.records import DataFile

STAGING = "backup-"
"""How the directories begin in which a home keeps links for a copy that is being made."""


def back_up(
    home: Path,
    catalog: Catalog,
    target: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Copy a home to a directory that is new or empty; how many files it lists.

    `progress` is told how many bytes have been copied, and of how many.
    """
    _check_target(home, target)
    try:
        with _staging(home) as staging:
            files = _freeze(home, catalog, staging)
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            _copy(staging, target, files, progress)
    except OSError as error:
        raise HomeError(f"{home} could not be copied to {target}: {explained(error)}") from error
    return len(files)


def sweep_backups(home: Path) -> None:
    """Remove the links of copies that were interrupted."""
    for folder in home.glob(f"{STAGING}*"):
        with suppress(OSError), _locked(folder):
            shutil.rmtree(folder)


def _check_target(home: Path, target: Path) -> None:
    if target.resolve().is_relative_to(home.resolve()):
        raise HomeError(f"a copy of {home} cannot be inside of it; name a directory elsewhere")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise HomeError(f"{target} is there already, and not empty; name a new directory for the copy")


@contextmanager
def _staging(home: Path) -> Iterator[Path]:
    """A directory of the home for links, locked for as long as somebody needs it."""
    folder = home / f"{STAGING}{uuid.uuid4().hex[:8]}"
    folder.mkdir(mode=0o700)
    try:
        with _locked(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _freeze(home: Path, catalog: Catalog, staging: Path) -> list[DataFile]:
    """Put all of a home, as it is at one moment, into the directory for links; the files that it lists."""
    with catalog.transaction():  # nobody commits meanwhile
        files = [file for kind in FOLDERS for file in catalog.files(kind)]
        for file in files:
            link = staging / file.path
            link.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(home / file.path, link)
            except FileNotFoundError:
                check(home / file.path, file.bytes, None)  # says what is missing
                raise
            except OSError:  # a file system without links, or files of another user's
                if is_held(home):
                    raise  # to copy them takes too long for an epoch that waits
                shutil.copy2(home / file.path, link)
        for record in sorted((home / "streams").glob("*")):
            _copy_record(record, staging / "streams" / record.name)
        with suppress(FileNotFoundError):
            shutil.copy2(home / "costs.json", staging / "costs.json")
        catalog.copy_to(staging / "catalog.db")
    return files


def _copy_record(record: Path, target: Path) -> None:
    """Copy Spark's record of a stream, while Spark may add to it.

    Spark notes the files of a batch and then plans it, so what is planned is looked for, and copied, before
    what is noted: a batch that the copy has as planned then has its files. What Spark removes meanwhile is
    old.
    """
    for part in ("metadata", "commits", "offsets", "*"):
        for path in [*record.glob(part), *record.glob(f"{part}/**/*")]:
            place = target / path.relative_to(record)
            if path.is_file() and ".tmp" not in path.name and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                with suppress(FileNotFoundError):
                    shutil.copy2(path, place)


def _copy(staging: Path, target: Path, files: list[DataFile], progress: Callable[[int, int], None]) -> None:
    """Copy what was frozen, the catalog last."""
    known = {staging / file.path: file for file in files}
    found = [path for path in staging.rglob("*") if path.is_file() and path.name != "catalog.db"]
    total = sum(path.stat().st_size for path in found)
    done = 0
    progress(done, total)
    for path in found:
        place = target / path.relative_to(staging)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
        if path in known:
            check(place, known[path].bytes, known[path].checksum)
        force(place)
        done += place.stat().st_size
        progress(done, total)
    catalog, draft = target / "catalog.db", target / "catalog.db.draft"
    shutil.copy2(staging / "catalog.db", draft)
    force(draft)
    force_directories([target / path.relative_to(staging) for path in found], target)
    draft.rename(catalog)
    force_directories([catalog], target)
