"""Jobs that Spark cancels as soon as they begin, as somebody would who stops them in Spark's UI."""

from __future__ import annotations

from contextlib import contextmanager

GROUP, PROPERTY = "windrow-doomed", "spark.jobGroup.id"


@contextmanager
def doomed(spark):
    """Whatever this thread lets Spark do meanwhile is cancelled."""
    context = spark.sparkContext
    context._jsc.sc().cancelJobGroupAndFutureJobs(GROUP)
    before = context.getLocalProperty(PROPERTY)
    context.setLocalProperty(PROPERTY, GROUP)
    try:
        yield
    finally:
        context.setLocalProperty(PROPERTY, before)
