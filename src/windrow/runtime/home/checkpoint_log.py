"""Spark's own record of a stream: the files it has seen, the batches it has planned and finished.

Spark forces none of it to disk, and never compares it with what Windrow has committed. So, before Spark reads
it again: entries that a power failure cut short are taken back (`repair`), the record must be about the batch
that the catalog has as the last (`check_record`), and what was noted and not planned goes (`tidy`).
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import zlib
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import unquote

from windrow.errors import HomeError
from windrow.runtime.home.durable import force, force_directories

if TYPE_CHECKING:
    from pathlib import Path

    from windrow.runtime.home.records import Progress

ENTRY = re.compile(r"(\d+)(\.compact)?")
"""The name of an entry in Spark's log of files."""
ANOTHER_MOMENT = (
    "catalog.db and streams/ are not of one moment: rows would be lost, or come twice, so nothing was read. "
    "Put the whole home back from one copy, made by `windrow backup HOME TARGET` or while no engine was "
    "running; or begin anew in another home"
)


def force_batch(folder: Path, batch: int, top: Path) -> None:
    """Force to disk what Spark wrote down about a batch, and its names in all directories up to `top`.

    Spark leaves that to chance, and after a power failure would hand out other rows under a number that
    is committed.
    """
    newest = [
        path
        for source in folder.glob("sources/*")
        for path in sorted(
            (path for path in source.glob("*") if not path.name.startswith(".")),
            key=lambda path: path.stat().st_mtime,
        )[-2:]
    ]
    paths = [
        path for path in (folder / "metadata", folder / "offsets" / str(batch), *newest) if path.exists()
    ]
    for path in paths:
        force(path)
    force_directories(paths, top)


def identity(folder: Path, batch: int) -> str | None:
    """What tells the offsets of a batch from any others, those that Spark planned at another time included;
    None if Spark has no such batch."""
    try:
        return sha256((folder / "offsets" / str(batch)).read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def check_record(folder: Path, stream: str, progress: Progress) -> None:
    """Raise a HomeError unless the record of a stream goes with its progress in the catalog.

    Spark may have planned the batch after the last one that is committed, and no other; and it has done none
    that is not committed.
    """
    last = progress.batch
    planned, done = (max(_numbers(folder / log), default=-1) for log in ("offsets", "commits"))
    found = identity(folder, last)
    if last >= 0 and found is None:
        problem = f"has no batch {last}" if folder.exists() else "is missing"
    elif last >= 0 and progress.offsets is not None and found != progress.offsets:
        problem = f"has another batch {last}"
    elif done > last:
        problem = f"has batch {done} as done"
    elif planned > last + 1:
        problem = f"has planned batch {planned}"
    else:
        return
    knows = "has no batch of it" if last < 0 else f"has batch {last} as the last"
    raise HomeError(
        f"Spark's record of stream '{stream}', {folder}, {problem}, and the home {knows}; {ANOTHER_MOMENT}"
    )


def repair(folder: Path, committed: int) -> None:
    """Take back what a power failure cut short, of all that the commit of a batch has not forced to disk.

    That a batch is done, the catalog knows. The batch after it is planned anew: it was not committed.
    """
    if committed < 0 and not _numbers(folder / "commits") and not _is_json(folder / "metadata"):
        shutil.rmtree(folder, ignore_errors=True)  # nothing has been read
        return
    for number in _numbers(folder / "commits"):
        _remove_unless_whole(folder / "commits" / str(number))
    following = folder / "offsets" / str(committed + 1)
    _remove_unless_whole(following)
    noted = _log_offset(following)
    if noted is not None:
        entries = [folder / "sources" / "0" / name for name in (f"{noted}", f"{noted}.compact")]
        whole = [_remove_unless_whole(entry) for entry in entries]
        if not (all(whole) and any(entry.exists() for entry in entries)):
            _remove(following)


def tidy(folder: Path) -> None:
    """Take back what a crash left half done: files noted for a batch that was never planned, and drafts.

    A file source notes the files of its next batch before Spark plans that batch. After a crash between the
    two, Spark would add them to the batch that it plans next: rows would be judged by an older watermark than
    if nothing had happened, and a batch would be larger than the bound on it.

    Of the checkpoint of a stream that reads one directory of files, and nothing else: only there does the
    log of files belong to the one offset in Spark's plan. What is not as expected is left alone.
    """
    for draft in [*folder.glob("*/.*.tmp*"), *folder.glob("sources/*/.*.tmp*")]:
        draft.unlink(missing_ok=True)
    planned = _planned(folder / "offsets")
    noted = [(path, ENTRY.fullmatch(path.name)) for path in (folder / "sources" / "0").glob("*")]
    for path, entry in noted:
        if planned is not None and entry is not None and int(entry[1]) > planned:
            _remove(path)


def _numbers(log: Path) -> list[int]:
    return [int(path.name) for path in log.glob("*") if path.name.isdecimal()]


def files_of(folder: Path, batch: int) -> list[str]:
    """The files of a batch that Spark has planned, in the order in which Spark took them.

    Of the checkpoint of a stream that reads one directory of files, and nothing else.
    """
    first = -1 if batch == 0 else _log_offset(folder / "offsets" / str(batch - 1))
    last = _log_offset(folder / "offsets" / str(batch))
    if first is None or last is None:
        raise HomeError(
            f"{folder} does not say which files batch {batch} has: Spark's record of it is damaged"
        )
    return [
        file for number in range(first + 1, last + 1) for file in _noted(folder / "sources" / "0", number)
    ]


def _noted(log: Path, number: int) -> list[str]:
    """The files of one entry in Spark's log of files; every tenth has those before it as well."""
    path = log / str(number)
    try:
        text = (path if path.exists() else log / f"{number}.compact").read_text(encoding="utf-8")
        its_own = f'"batchId":{number}'  # an entry in one piece may have a hundred thousand lines of others
        entries = [json.loads(line) for line in text.split("\n")[1:] if its_own in line]
        return [unquote(entry["path"]) for entry in entries if entry["batchId"] == number]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HomeError(f"{path} does not say which files Spark has read: {error}") from error


def _planned(offsets: Path) -> int | None:
    """How far the last planned batch reads the list of files: -1 before the first, None if unclear."""
    numbers = _numbers(offsets)
    return _log_offset(offsets / str(max(numbers))) if numbers else -1


def _log_offset(planned: Path) -> int | None:
    """How far a batch reads the list of files; None if it does not read one, or not it alone."""
    try:
        version, _, offset = planned.read_text(encoding="utf-8").split("\n")
        found = json.loads(offset)["logOffset"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if version == "v1" and isinstance(found, int) else None


def _remove_unless_whole(path: Path) -> bool:
    """Remove an entry of a log that is not as Spark wrote it; False if it was removed."""
    if not path.is_file() or _is_whole(path):
        return True
    _remove(path)
    return False


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _checksums(path).unlink(missing_ok=True)


def _checksums(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def _is_whole(path: Path) -> bool:
    """Whether an entry is what Spark wrote: its checksums fit or, where it has none, each of its lines can be
    read. Hadoop ignores checksums that do not even have their header."""
    content = path.read_bytes()
    with suppress(OSError, struct.error):
        checksums = _checksums(path).read_bytes()
        magic, chunk = struct.unpack("!4si", checksums[:8])
        if magic == b"crc\0" and chunk > 0:
            chunks = (content[at : at + chunk] for at in range(0, len(content), chunk))
            return checksums[8:] == b"".join(struct.pack("!I", zlib.crc32(each)) for each in chunks)
    version, *lines = content.decode(errors="replace").split("\n")
    return re.fullmatch(r"v\d+", version) is not None and bool(lines) and all(map(_is_entry, lines))


def _is_entry(line: str) -> bool:
    if line == "-":  # a source that has nothing yet
        return True
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
