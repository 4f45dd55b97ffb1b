"""How many random examples a test has that runs Spark, where one takes a second or more.

Few in every run, which draws others each time; ten times as many with WINDROW_LONG=1.
"""

import os

LONG = "WINDROW_LONG" in os.environ


def examples(few: int) -> int:
    """So many, or ten times as many."""
    return few * 10 if LONG else few
