"""Passes by the kind that their records name: a record that was kept becomes the pass again.

A new kind of pass is written into `KINDS`, and whoever keeps plans need not know of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windrow.planner.passes.grouped import Pass
from windrow.planner.passes.lifted import LiftedPass
from windrow.planner.passes.rows import RowPass
from windrow.planner.passes.selected import SelectedPass
from windrow.planner.passes.woven import WovenPass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.planner.passes.base import BatchPass, Demand

KINDS: dict[str, type[BatchPass]] = {
    "grouped": Pass,
    "values": Pass,
    "rows": RowPass,
    "selected": SelectedPass,
    "lifted": LiftedPass,
    "woven": WovenPass,
}
"""By the `kind` in a record, which is in catalogs: a name that was once written down is not given to another
kind of pass."""


def from_record(record: Mapping[str, Any], demands: Mapping[Any, Demand]) -> BatchPass:
    """The pass that a record tells of, for demands by who asks; see `BatchPass.from_record`."""
    return KINDS[record["kind"]].from_record(record, demands)
