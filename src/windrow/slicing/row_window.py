"""A window of rows: how many it holds, how often it is evaluated, and as a window on row numbers."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.slicing.window import Window


@dataclass(frozen=True)
class RowWindow:
    """`[ROWS rows SLIDE slide]`, or with PARTITION BY one such window for each group.

    It is evaluated when the slide-th row, the 2 × slide-th row and so on has come, and then holds the
    last `rows` rows, or all of them as long as there are fewer.
    """

    rows: int
    slide: int
    partitioned: bool = False

    @property
    def on_numbers(self) -> Window:
        """The window as one of time, the instant of a row being how many came before it.

        >>> RowWindow(100, 10).on_numbers.first_evaluation_after(25)
        30
        """
        return Window(self.rows, self.slide)
