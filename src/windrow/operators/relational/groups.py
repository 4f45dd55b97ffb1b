"""GROUP BY over rows that know when they end: what runs a `Group` of a query's tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.operators.relational.changing_groups import ChangingGroups
from windrow.operators.relational.slot_groups import SlotGroups

if TYPE_CHECKING:
    from windrow.logical.tree import Group


def Groups(node: Group) -> ChangingGroups | SlotGroups:  # noqa: N802 - it stands among the operators, as they are called
    """The operator of a node: with SLIDE answered at each evaluation, without at every change."""
    return ChangingGroups(node) if node.slide is None else SlotGroups(node)
