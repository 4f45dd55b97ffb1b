"""stub"""
from __future__ import annotations
from typing import Any


def bind_relational(*given: Any) -> Any:
    """A statement as a tree of operators."""
    raise NotImplementedError
