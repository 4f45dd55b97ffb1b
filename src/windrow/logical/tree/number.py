"""Rows with a number each, by which equal ones can be told apart: EXISTS with conditions needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.logical.tree.node import Column, OfOne

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Number(OfOne):
    """No two rows that live at the same time have the same number; nobody may see which it is."""

    name: str
    """The column of the numbers."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.of.columns, Column(self.name, pa.int64()))

    def __str__(self) -> str:
        return "number the rows"
