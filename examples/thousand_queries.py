"""A thousand queries over one stream, and a picture of how they share the work. Nothing runs.

python examples/thousand_queries.py plan.svg
"""

from __future__ import annotations

import random
import sys

import windrow

GROUPINGS = ["", "room", "floor", "room, kind"]
PREDICATES = ["", "celsius > 25", "celsius < 5", "kind = 'inside'", "floor = 3"]
SLIDES = [1, 2, 5, 7, 10, 15, 30, 60, 90, 300, 600, 900, 3600, 21600, 86400]
AGGREGATES = ["COUNT(*)", "AVG(celsius)", "MAX(celsius)", "MIN(celsius)", "STDDEV(celsius)"]


def statement(number: int, chance: random.Random) -> str:
    """A random query; short slides are asked for most often."""
    keys, predicate = chance.choice(GROUPINGS), chance.choice(PREDICATES)
    slide = SLIDES[min(int(chance.paretovariate(0.5)), len(SLIDES)) - 1]
    window = f"[RANGE {slide * chance.randint(1, 200)} SECONDS SLIDE {slide} SECONDS]"
    items = [*([keys] if keys else []), f"{chance.choice(AGGREGATES)} AS answer"]
    where = f" WHERE {predicate}" if predicate else ""
    group = f" GROUP BY {keys}" if keys else ""
    return f"CREATE QUERY q{number} AS SELECT {', '.join(items)} FROM readings {window}{where}{group}"


chance = random.Random(7)
with windrow.Engine() as eng:
    columns = "ts TIMESTAMP, room STRING, floor INT, kind STRING, celsius DOUBLE"
    eng.stream("readings", eng.spark.createDataFrame([], columns), timestamp="ts")
    eng.execute(";\n".join(statement(number, chance) for number in range(1000)))
    plan = eng.explain()
    print(plan)
    if len(sys.argv) > 1:
        plan.draw(sys.argv[1])
