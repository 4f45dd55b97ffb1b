"""Passes over a batch: the Spark SQL that turns rows into partials, and which queries share it."""
