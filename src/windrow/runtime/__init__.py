"""Everything with a side effect: Spark, batches and micro-batches, state on disk, results."""
