"""The plan of a set of queries, to be seen: as text, as a picture, as a graph."""

from windrow.explain.explanation import Explanation, check_ending, explain
from windrow.explain.overview import Observed

__all__ = ["Explanation", "Observed", "check_ending", "explain"]
