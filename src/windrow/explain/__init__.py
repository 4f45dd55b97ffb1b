"""The plan of a set of queries, to be seen: as text, as a picture, as a graph."""

from windrow.explain.explanation import Explanation, check_ending, explain

__all__ = ["Explanation", "check_ending", "explain"]
