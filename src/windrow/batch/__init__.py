"""What `windrow.sliding()` runs on: window aggregates over a batch DataFrame, in Spark's tasks."""
