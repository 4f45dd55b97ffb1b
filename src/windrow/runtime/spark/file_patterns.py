r"""Letters that Spark takes for patterns in the paths that it reads: `[1]`, `{a,b}`, `*`, `?`, `\`.

Spark's own way to turn patterns off, the option `__globPaths__`, reads each of n files n times if a path has
such letters, and Spark's streams of files use it. So files are named in a way in which they are themselves.
"""

from __future__ import annotations

import re


def is_pattern(path: str) -> bool:
    """Whether a path may stand for several."""
    return any(letter in path for letter in "{}[]*?\\")


def as_itself(path: str) -> str:
    """A path for Spark to read, which stands for itself and no other.

    >>> as_itself("home [1]/a.parquet")
    'home \\\\[1\\\\]/a.parquet'
    """
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
