"""Spark as the engine uses it: sessions, sources, jobs, and what its errors mean."""
