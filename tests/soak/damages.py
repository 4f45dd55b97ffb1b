"""What becomes of Spark's own record of a stream without Windrow: cut short by a power failure, or of another
moment than the catalog, in a home that was put together of two copies."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def cut_short(home: Path) -> None:
    """Cut in half what no commit has forced to disk: the newest note that a batch is done, and, of a batch that
    is planned and not committed, the plan and the list of its files."""
    for stream, committed in _committed(home).items():
        record = home / "streams" / stream
        newest = {part: max(_numbers(record / part), default=-1) for part in ("commits", "offsets")}
        cut = [record / "commits" / str(newest["commits"])]
        if newest["offsets"] > committed:
            cut.append(record / "offsets" / str(newest["offsets"]))
            cut += [record / "sources" / "0" / str(max(_numbers(record / "sources" / "0"), default=-1))]
        for path in cut:
            if path.exists():
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@contextmanager
def another_moment(home: Path) -> Iterator[bool]:
    """The home with Spark's record as it was a batch ago, of one stream, and again as it is; False if nothing
    has been committed yet."""
    (stream, last) = max(_committed(home).items(), key=lambda item: item[1], default=("", -1))
    record, aside = home / "streams" / stream, home.parent / "record-aside"
    if last < 0:
        yield False
        return
    shutil.copytree(record, aside)
    try:
        for part in ("offsets", "commits"):
            for number in _numbers(record / part):
                if number >= last:
                    (record / part / str(number)).unlink()
        yield True
    finally:
        shutil.rmtree(record)
        aside.rename(record)


def _committed(home: Path) -> dict[str, int]:
    if not (home / "catalog.db").exists():
        return {}
    with sqlite3.connect(home / "catalog.db") as database:
        found = dict(database.execute("SELECT stream, batch FROM progress").fetchall())
    database.close()
    return found


def _numbers(log: Path) -> list[int]:
    return [int(path.name) for path in log.glob("*") if path.name.isdecimal()]
