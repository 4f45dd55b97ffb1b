"""A table is the same rows as a DataFrame, whatever chunks it is in."""

import pyarrow as pa
import pytest

from windrow.runtime.spark.arrow_frames import frame_of

SOME = pa.table({"x": [1, 2, 3]})
NONE = SOME.schema.empty_table()


@pytest.mark.parametrize("parts", [[SOME], [NONE], [NONE, NONE, SOME], [NONE, NONE, SOME, NONE, SOME]])
def test_chunks_without_rows_lose_no_others(spark, parts):
    table = pa.concat_tables(parts)
    assert frame_of(spark, table).toArrow()["x"].to_pylist() == table["x"].to_pylist()
