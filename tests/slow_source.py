"""A streaming source without rows that takes its time to say so. Spark's Python workers import it, so it
imports little."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader


class SlowToList(DataSource):
    """Each time it is asked for rows, it notes when in the file `asked`, and answers when somebody has opened
    the pipe `pipe` for writing and closed it; at once if there is none."""

    @classmethod
    def name(cls):
        return "slow_to_list"

    def schema(self):
        return "ts TIMESTAMP"

    def simpleStreamReader(self, schema):  # noqa: N802
        return _SlowReader(Path(self.options["asked"]), Path(self.options["pipe"]))


class _SlowReader(SimpleDataSourceStreamReader):
    def __init__(self, asked, pipe):
        self.asked, self.pipe = asked, pipe

    def initialOffset(self):  # noqa: N802
        return {"row": 0}

    def read(self, start):
        self.asked.write_text(str(time.time()))
        if self.pipe.exists():
            self.pipe.read_text()
        return iter([]), start

    def readBetweenOffsets(self, start, end):  # noqa: N802
        return iter([])
