"""The rows of a batch that enter no window: which they are, and why, in words that a user can act on.

A row is dead when it could not be read or has no usable event time, and late when it is not dead and
came after the watermark. Both are found by a pass of their own, which runs only when the tally has
counted some; reasons are computed for dead rows alone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.types as pat
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType, VariantType

from windrow.columns import (
    BEGINNING,
    END_OF_TIME,
    EPOCH,
    FILE,
    HEADER,
    INSTANT,
    LATE_BY,
    POSITION,
    QUERY,
    RAW,
    REASON,
    REFUSED_FILE,
    REFUSED_POSITION,
    REFUSED_RAW,
    YEAR_1,
    YEAR_10000,
    quoted,
)
from windrow.cql.durations import DAY, format_duration
from windrow.planner.passes.bounds import instants_sql
from windrow.runtime.spark.analysis import select

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column

    from windrow.logical import Stream
    from windrow.planner import Bounds
    from windrow.runtime.spark.headers import Header
    from windrow.runtime.spark.sources import FileSource

OURS = frozenset({LATE_BY, QUERY, REFUSED_FILE, REFUSED_POSITION, EPOCH})
END = "WindrowEndOfLine"
"""Put behind a line, as one more value: where it is found tells how many values came before it."""
MORE = 20
"""Superfluous values are counted up to here."""
SHOWN = 60
"""Characters of a value in a reason."""
ABOUT_FILES = frozenset(
    {"mode", "columnnameofcorruptrecord", "header", "enforceschema", "inferschema", "encoding", "charset"}
    | {"multiline", "linesep", "maxcolumns", "samplingratio", "singlevariantcolumn"}
)
"""Options that say how to find lines and what to do with bad ones, not how to read one."""


def late_rows(
    stream: Stream,
    batch: DataFrame,
    bounds: Bounds,
    query: str | None = None,
    after: int = BEGINNING,
    until: int | None = None,
) -> DataFrame:
    """The late rows: the batch's own columns, `_late_by`, `_query`, `_file`, `_position`.

    A column of the user's that is called like one of ours gets an underscore at its end. After the seal
    everything is late, and `_late_by` is NULL.

    `query`: the rows that its stream accepts, and that are late for this query alone, since it has been
    answered `until` an instant; those `after` which it came.
    """
    refused = f"NOT {bounds.dead(stream)} AND NOT ({bounds.good(stream)})"
    if until is not None:
        refused = f"{bounds.good(stream)} AND {INSTANT} > {after}L AND {INSTANT} < {until}L"
        bounds = replace(bounds, watermark=until)
    columns = [f"{quoted(name)} AS {quoted(apart(name))}" for name in _own_columns(batch)]
    whose = "CAST(NULL AS STRING)" if query is None else _literal(query)
    late_by = "CAST(NULL AS INTERVAL DAY TO SECOND)"
    if bounds.watermark is not None and bounds.watermark < END_OF_TIME:
        # Not the difference of two timestamps: that counts local hours, and days differ in length.
        late_by = f"({bounds.watermark}L - {INSTANT}) * INTERVAL '0.000001' SECOND"
    sql = (
        f"SELECT {', '.join([*columns, f'{late_by} AS {LATE_BY}', f'{whose} AS {QUERY}', *_origin(batch)])} "
        f"FROM ({instants_sql(stream)}) WHERE {refused}"
    )
    return _readable(select(batch.sparkSession, sql, {stream.name: batch}))


def dead_rows(
    stream: Stream,
    batch: DataFrame,
    bounds: Bounds,
    source: FileSource | None,
    headers: Sequence[Header] = (),
) -> DataFrame:
    """The dead rows: `_reason`, `_raw`, `_file`, `_position`.

    `_raw` is the line if it could not be read, else the columns in use, as JSON. `headers` are those that
    HEADER numbers, if the batch has it.
    """
    columns = ", ".join(map(quoted, _own_columns(batch)))
    row = f"to_json(struct({columns}), map('ignoreNullFields', 'false'))"
    line = RAW if RAW in batch.columns else "CAST(NULL AS STRING)"
    items = [f"{line} AS line", f"{row} AS row", f"{_time_reason(stream, bounds)} AS untimely"]
    items += [HEADER] if headers else []
    sql = (
        f"SELECT {', '.join([*items, *_origin(batch)])} "
        f"FROM ({instants_sql(stream)}) WHERE {bounds.dead(stream)}"
    )
    dead = select(batch.sparkSession, sql, {stream.name: batch})
    if source is not None and RAW in batch.columns:
        dead = _with_unreadable(dead, stream, source, headers)
        reason = F.when(F.col("line").isNotNull(), F.col("unreadable")).otherwise(F.col("untimely"))
    else:
        reason = F.col("untimely")
    raw = F.coalesce("line", "row").alias(REFUSED_RAW)
    return _readable(dead.select(reason.alias(REASON), raw, REFUSED_FILE, REFUSED_POSITION))


def _time_reason(stream: Stream, bounds: Bounds) -> str:
    """What is wrong with an event time, as SQL for a sentence."""
    name = quoted(stream.timestamp)
    said = _literal(stream.timestamp)
    day = f"CAST(floor({INSTANT} / CAST({DAY} AS DECIMAL(20))) AS INT)"
    year = f"{said}, ' is in the year ', year(date_from_unix_date({day}))"
    years = ": event time must be in the years 1 to 9999"
    cases = [
        f"WHEN {INSTANT} IS NULL THEN concat({said}, ' is NULL: a row without event time')",
        f"WHEN {INSTANT} < {YEAR_1}L THEN concat({year}, '{years}')",
        f"WHEN {INSTANT} >= {YEAR_10000}L THEN concat({year}, '{years}; milliseconds taken for seconds?')",
    ]
    if bounds.ahead is not None:
        skew = DAY if stream.skew is None else stream.skew
        words = f"by more than the SKEW of {format_duration(skew)}"
        clock = _clock_sql(stream, bounds.ahead - skew)
        cases.append(f"ELSE concat({said}, ' ', {name}, ' is ahead of the clock (', {clock}, ') {words}')")
    return f"CASE {' '.join(cases)} END"


def _clock_sql(stream: Stream, clock: int) -> str:
    """The clock as the event time is written: in the session's zone, or in none."""
    seconds = clock // 1_000_000
    if pat.is_timestamp(stream.time_type) and stream.time_type.tz is None:
        return f"'{datetime(1970, 1, 1) + timedelta(seconds=seconds)}'"
    return f"timestamp_seconds({seconds}L)"


def _own_columns(batch: DataFrame) -> list[str]:
    return [name for name in batch.columns if not name.startswith("_windrow_")]


def apart(name: str) -> str:
    while name.lower() in OURS:
        name += "_"
    return name


def _origin(batch: DataFrame) -> list[str]:
    """Where a row comes from, as far as it is known."""
    if FILE in batch.columns:
        file = FILE
    elif batch.is_cached:
        file = "''"  # what Spark says here is the file that it looked at last
    else:
        file = "input_file_name()"
    position = POSITION if POSITION in batch.columns else "CAST(NULL AS BIGINT)"
    return [f"{file} AS {REFUSED_FILE}", f"{position} AS {REFUSED_POSITION}"]


def _readable(rows: DataFrame) -> DataFrame:
    """Spark's address of a file as people write it: without %20, and without file:// if it is local."""
    # A plus in an address is a plus; url_decode would make it a space.
    decoded = f"coalesce(try_url_decode(replace({REFUSED_FILE}, '+', '%2B')), {REFUSED_FILE})"
    local = F.expr(f"nullif(regexp_replace({decoded}, '^file:/+', '/'), '')")
    return rows.withColumn(REFUSED_FILE, local)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _with_unreadable(
    dead: DataFrame, stream: Stream, source: FileSource, headers: Sequence[Header]
) -> DataFrame:
    """With a sentence about a line that could not be read, as `unreadable`.

    Spark says only that a line is bad. So it is parsed twice more, with the declared types (`read`) and with
    every value as it is written (`text`); a value that is in the second and not in the first is a culprit.
    Each is a column of its own, because an expression that holds them is compiled once for every mention.
    """
    schema = from_arrow_schema(pa.schema(list(stream.columns.items())), prefer_timestamp_ntz=True)
    if source.columns is not None:
        schema = cast("StructType", StructType.fromDDL(source.columns))
    options = {name: value for name, value in source.options.items() if name.lower() not in ABOUT_FILES}
    if source.format != "csv":
        return _json(dead, schema, options)
    if not headers:
        columns = "1 column is declared" if len(schema) == 1 else f"{len(schema)} columns are declared"
        again = "the names of the columns, not values: OPTIONS (header 'true') skips them"
        return _csv(dead, list(schema), [field.name for field in schema], columns, again, options)
    judged = []
    for number, header in enumerate(headers):
        own = dead.where(F.col(HEADER) == number)
        if header.complaint:
            judged.append(own.withColumn("unreadable", F.lit(f"{header.complaint}: it is {header}")))
            continue
        columns = (
            "the header has 1 column" if len(header.names) == 1 else f"the header has {len(header.names)}"
        )
        again = "the header of the file again, not values"
        judged.append(_csv(own, header.fields(schema), header.names, columns, again, options))
    return reduce(DataFrame.union, (own.select(*dead.columns, "unreadable") for own in judged))


def _csv(
    dead: DataFrame,
    fields: Sequence[StructField],
    names: Sequence[str],
    columns: str,
    again: str,
    options: dict[str, str],
) -> DataFrame:
    """With `unreadable` for lines of CSV: `names` and `fields` are the columns of a line, by their places,
    `columns` says how many there are, and `again` what is said of a line of their names."""
    count = len(fields)
    # Columns by number: CSV has no names in its lines, and those declared may hold anything.
    declared = ", ".join(f"c{i} {field.dataType.simpleString()}" for i, field in enumerate(fields))
    as_text = ", ".join(f"c{i} STRING" for i in range(count + MORE))
    marked = F.concat("line", F.lit(_separator(options) + END))
    dead = dead.withColumns(
        {"read": F.from_csv("line", declared, options), "text": F.from_csv(marked, as_text, options)}
    )
    read, text = F.col("read"), F.col("text")
    dead = dead.withColumn("given", F.array(*(text[f"c{i}"] for i in range(count + MORE))))
    dead = dead.withColumn("found", F.array_position("given", END) - 1)
    found = F.col("found")
    number = F.when(found == 1, F.lit("1 value")).otherwise(F.concat(found.cast("string"), F.lit(" values")))
    culprits = (
        _culprit(field, read[f"c{i}"], text[f"c{i}"], _in_quotes(text[f"c{i}"]))
        for i, field in enumerate(fields)
    )
    why = (
        F.when(
            F.exists("given", lambda value: value.endswith(END) & (value != END)),
            F.lit("a quote is opened and not closed"),
        )
        .when(found < 0, F.lit(f"more than {count + MORE - 1} values where {columns}"))
        .when(found != count, F.concat(number, F.lit(f" where {columns}")))
        .when(
            F.transform(F.slice("given", 1, count), F.lower)
            == F.array(*(F.lit(name.lower()) for name in names)),
            F.lit(again),
        )
        .otherwise(_all(culprits, F.lit("not a line of the declared columns")))
    )
    return dead.withColumn("unreadable", why)


def _json(dead: DataFrame, schema: StructType, options: dict[str, str]) -> DataFrame:
    options = options | {"columnNameOfCorruptRecord": RAW}
    broken = StructField(RAW, StringType())
    as_text = StructType([*(StructField(field.name, StringType()) for field in schema), broken])
    # Text has lost whether a value was written as a string; a variant has not.
    as_kind = StructType([StructField(field.name, VariantType()) for field in schema])
    shapes = {"read": StructType([*schema, broken]), "text": as_text, "kind": as_kind}
    dead = dead.withColumns({name: F.from_json("line", shape, options) for name, shape in shapes.items()})
    read, text, kind = F.col("read"), F.col("text"), F.col("kind")
    culprits = []
    for field in schema:
        value = text.getField(field.name)
        is_bare = ~F.to_json(kind.getField(field.name)).startswith('"')
        shown = F.when(is_bare, _short(value)).otherwise(_in_quotes(value))
        culprits.append(_culprit(field, read.getField(field.name), value, shown))
    nested = [f.name for f in schema if isinstance(f.dataType, ArrayType | MapType | StructType)]
    inside = F.concat_ws(", ", *(F.when(text.getField(n).isNotNull(), F.lit(n)) for n in nested))
    within = F.concat(F.lit("a value inside "), inside, F.lit(" is not of its declared type"))
    otherwise = F.when(inside != "", within).otherwise(F.lit("a value is not of its declared type"))
    why = (
        F.when(
            F.ltrim("line").startswith("["),
            F.lit("a JSON array, and not each of its elements is an object of the declared columns"),
        )
        .when(text.isNull() | text.getField(RAW).isNotNull(), F.lit("not a JSON object"))
        .otherwise(_all(culprits, otherwise))
    )
    return dead.withColumn("unreadable", why)


def _culprit(field: StructField, read: Column, text: Column, shown: Column) -> Column:
    """What to say of a value that was lost, else NULL."""
    nested = isinstance(field.dataType, ArrayType | MapType | StructType)
    of_type = field.dataType.simpleString()
    said = F.concat(
        F.lit(f"{field.name} is "), shown, F.lit(f", not {of_type if nested else of_type.upper()}")
    )
    return F.when(read.isNull() & text.isNotNull(), said)


def _all(culprits: Iterable[Column], otherwise: Column) -> Column:
    said = F.concat_ws("; ", *culprits)
    return F.when(said != "", said).otherwise(otherwise)


def _in_quotes(value: Column) -> Column:
    return F.concat(F.lit("'"), _short(value), F.lit("'"))


def _short(value: Column) -> Column:
    cut = F.concat(F.substring(value, 1, SHOWN), F.lit("…"))
    return F.when(F.length(value) > SHOWN, cut).otherwise(value)


def _separator(options: dict[str, str]) -> str:
    """What stands between values; Spark knows it by two names, and a tab also as backslash and t."""
    given = {name.lower(): value for name, value in options.items()}
    separator = given.get("sep", given.get("delimiter", ","))
    return separator.encode().decode("unicode_escape") if separator.startswith("\\") else separator
