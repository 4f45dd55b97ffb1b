"""The rules by which a stream's part of a plan is made, one a file, in the order of `RULES`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.planner.rules.choose import choose
from windrow.planner.rules.let_go import let_go
from windrow.planner.rules.plant import plant
from windrow.planner.rules.price import price
from windrow.planner.rules.settle import settle
from windrow.planner.rules.share_rows import share_rows
from windrow.planner.rules.take_over import take_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.planner.draft import Draft

RULES: tuple[Callable[[Draft], Draft], ...] = (let_go, plant, take_over, settle, choose, share_rows, price)
"""Who goes, who comes, who moves; then where operators are, how rows are read for them, what that costs."""
