"""Spark's own record of a stream: the files it has seen, the batches it has planned and finished.

A file source notes the files of its next batch before Spark plans that batch. After a crash between the
two, Spark would add them to the batch that it plans next: rows would be judged by an older watermark than
if nothing had happened, and a batch would be larger than the bound on it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from windrow.runtime.durable import force, force_directories

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = re.compile(r"(\d+)(\.compact)?")
"""The name of an entry in Spark's log of files."""


def force_batch(folder: Path, batch: int, top: Path) -> None:
    """Force to disk what Spark wrote down about a batch, and its names in all directories up to `top`.

    Spark leaves that to chance, and after a power failure would hand out other rows under a number that
    is committed.
    """
    logs = [path for path in folder.glob("sources/*/*") if not path.name.startswith(".")]
    newest = sorted(logs, key=lambda path: path.stat().st_mtime)[-2:]
    paths = [
        path for path in (folder / "metadata", folder / "offsets" / str(batch), *newest) if path.exists()
    ]
    for path in paths:
        force(path)
    force_directories(paths, top)


def tidy(folder: Path) -> None:
    """Take back what a crash left half done: files noted for a batch that was never planned, and drafts.

    Of the checkpoint of a stream that reads one directory of files, and nothing else: only there does the
    log of files belong to the one offset in Spark's plan. What is not as expected is left alone.
    """
    for draft in [*folder.glob("*/.*.tmp*"), *folder.glob("sources/*/.*.tmp*")]:
        draft.unlink(missing_ok=True)
    planned = _planned(folder / "offsets")
    noted = [(path, ENTRY.fullmatch(path.name)) for path in (folder / "sources" / "0").glob("*")]
    for path, entry in noted:
        if planned is not None and entry is not None and int(entry[1]) > planned:
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _planned(offsets: Path) -> int | None:
    """How far the last planned batch reads the list of files: -1 before the first, None if unclear."""
    numbers = [int(path.name) for path in offsets.glob("*") if path.name.isdecimal()]
    if not numbers:
        return -1
    try:
        version, _, offset = (offsets / str(max(numbers))).read_text(encoding="utf-8").split("\n")
        found = json.loads(offset)["logOffset"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if version == "v1" and isinstance(found, int) else None
