"""The files of a batch: each read once, and columns of CSV found by the names in their headers.

What Spark hands out is right where file names have no letters of patterns and headers are as declared, which
is nearly always. Then the batch is taken as it is, and this costs a look at the headers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from windrow.columns import quoted
from windrow.runtime.epochs.collecting import read_stream
from windrow.runtime.home.checkpoint_log import files_of
from windrow.runtime.spark.columns_by_name import ColumnsByName
from windrow.runtime.spark.file_patterns import is_pattern
from windrow.runtime.spark.headers import ignores_corrupt_files, is_there
from windrow.runtime.spark.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

    from windrow.runtime.spark.headers import Header
    from windrow.runtime.spark.sources import FileSource


class BatchFiles:
    """Reads the batches of a stream that comes from files, as the files are."""

    def __init__(self, stream: str, source: FileSource, checkpoint: Path) -> None:
        self._stream = stream
        self._source = source
        self._checkpoint = checkpoint
        self._named: ColumnsByName | None = None

    def read(
        self, batch: DataFrame, batch_id: int, stopping: Callable[[], bool], *, first: bool
    ) -> tuple[DataFrame, tuple[Header, ...], Callable[[], Sequence[str]]]:
        """A batch, with each of its files read once, and columns of CSV found by their names; the headers
        that are not as declared; and what finds the files whose footers tell of all its rows, if there are
        such: it asks Spark, which takes a millisecond, and few batches need it. `first`: whether nothing of
        the stream is committed yet."""
        files = files_of(self._checkpoint, batch_id)
        batch = self._each_once(batch, files)
        if not self._source.has_names:
            return batch, (), partial(self._with_footers, batch, files)
        patience = Patience(f"a batch of stream '{self._stream}'", stopping)
        named = partial(self._by_name, batch, files, first=first)
        return *read_stream(self._stream, named, patience), tuple

    def _with_footers(self, batch: DataFrame, files: list[str]) -> Sequence[str]:
        """The files of a batch, if they have footers, and Spark reads these files, whole, and no others."""
        if self._source.is_text or any(map(is_pattern, files)):
            return ()
        return () if ignores_corrupt_files(batch.sparkSession, self._source.options) else files

    def _each_once(self, batch: DataFrame, files: list[str]) -> DataFrame:
        """The batch, read again if Spark would read its files several times: those of its streams that have
        letters of patterns in their names."""
        if len(files) == 1 or not any(map(is_pattern, files)):
            return batch
        there = [file for file in files if is_there(batch.sparkSession, file)]  # as Spark does
        if not there:
            return batch.where("false")
        columns = [field for field in batch.schema if not field.name.startswith("_windrow_")]
        rows = self._source.read_files(batch.sparkSession, columns, there)
        return rows.select(*map(quoted, batch.columns))

    def _by_name(
        self, batch: DataFrame, files: list[str], *, first: bool
    ) -> tuple[DataFrame, tuple[Header, ...]]:
        """Rows of CSV files by the names in their headers, and the headers that are not as declared."""
        if self._named is None:
            self._named = ColumnsByName(self._stream, self._source, batch.sparkSession)
        return self._named.batch(batch, files, first=first)
