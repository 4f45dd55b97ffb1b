"""Sliding windows over NumPy arrays and pandas objects: the final step by itself, without Spark."""

from windrow.final.arrays.slide import slide

__all__ = ["slide"]
