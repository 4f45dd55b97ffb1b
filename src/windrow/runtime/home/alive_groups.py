"""Which rows of a file of changes are alive at its end: whoever asks for a later answer reads no others.

Compaction writes them behind the rest, in row groups of their own, and notes in the file's metadata where
they begin, and from which instant on the rest no longer matters: what is in it has ended by then, by itself,
or because it was taken back in the same file. It also notes up to where RETAIN had been applied.

Cost: that of `folding.left_of`, once for each file that compaction writes.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns import BEGINNING, END_OF_TIME, TIME
from windrow.runtime.home.folding import alive, left_of

if TYPE_CHECKING:
    import pyarrow.parquet as pq

NOTE = "windrow_alive"
"""The entry in the metadata of a file."""


@dataclass(frozen=True)
class AliveNote:
    """What a file of changes says of its rows."""

    group: int = 0
    """The first row group that matters …"""
    at: int = END_OF_TIME
    """… from this instant on."""
    folded: int = BEGINNING
    """Changes up to here that no longer matter behind that have gone."""

    def first_group(self, at: int) -> int:
        """The first row group whose changes matter at an instant."""
        return self.group if at >= self.at else 0

    def write(self, writer: pq.ParquetWriter) -> None:
        """Let a file that is being written say so."""
        writer.add_key_value_metadata({NOTE: json.dumps(asdict(self))})


def note_of(file: pq.ParquetFile) -> AliveNote:
    """What a file says of its rows; one that an epoch has written says nothing."""
    noted = (file.metadata.metadata or {}).get(NOTE.encode())
    return AliveNote() if noted is None else AliveNote(**json.loads(noted))


def write_alive_last(writer: pq.ParquetWriter, changes: pa.Table, group_rows: int, folded: int) -> None:
    """Write changes in their order, but those that are alive at their end behind the others."""
    if not len(changes):
        writer.write_table(changes)
        return
    end = int(pc.max(changes[TIME].cast(pa.int64())).as_py())
    lives_on = np.zeros(len(changes), bool)
    lives_on[left_of(changes)] = True
    lives_on &= alive(changes, end).to_numpy()
    for part in (~lives_on, lives_on):
        if part.any():
            writer.write_table(changes.filter(pa.array(part)), row_group_size=group_rows)
    AliveNote(-(-int((~lives_on).sum()) // group_rows), end, folded).write(writer)
