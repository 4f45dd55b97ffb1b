"""Spark's own record of a stream: the files it has seen, the batches it has planned and finished.

A file source notes the files of its next batch before Spark plans that batch. After a crash between the
two, Spark would add them to the batch that it plans next: rows would be judged by an older watermark than
if nothing had happened, and a batch would be larger than the bound on it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from windrow.runtime.durable import force, force_directories

if TYPE_CHECKING:
    from pathlib import Path


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
    """Take back what a crash left half done: files noted for a batch that was never planned, and drafts."""
    for draft in [*folder.glob("*/.*.tmp*"), *folder.glob("sources/*/.*.tmp*")]:
        draft.unlink()
    offsets = {int(path.name): path for path in (folder / "offsets").glob("[0-9]*") if path.is_file()}
    planned = _offsets_of_files(offsets[max(offsets)]) if offsets else {}
    for source in folder.glob("sources/[0-9]*"):
        last = planned.get(int(source.name)) if offsets else -1
        for path in source.glob("[0-9]*"):
            if last is not None and int(path.name.removesuffix(".compact")) > last:
                path.unlink()
                (source / f".{path.name}.crc").unlink(missing_ok=True)


def _offsets_of_files(path: Path) -> dict[int, int]:
    """How far a batch reads the list of files of each source that has one."""
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()[2:]):
        try:
            offset = json.loads(line)
        except ValueError:
            continue
        if isinstance(offset, dict) and "logOffset" in offset:
            found[number] = int(offset["logOffset"])
    return found
