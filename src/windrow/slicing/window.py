"""A time window with a slide: how long it is, how often it is evaluated, and at which instants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Window:
    """`[RANGE range SLIDE slide OFFSET offset]`, in microseconds.

    It is evaluated at every e with e ≡ offset (mod slide) and then holds the rows with
    e - range ≤ ts < e.

    >>> Window(60, 10).first_evaluation_after(-25)
    -20
    >>> Window(60, 10).last_evaluation_until(-25)
    -30
    """

    range: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", self.offset % self.slide)

    @classmethod
    def starting_at(cls, range: int, slide: int, start_time: int = 0) -> Window:
        """The window as Spark's `window()` means it: windows *start* at multiples of the slide.

        >>> Window.starting_at(range=7, slide=5)
        Window(range=7, slide=5, offset=2)
        """
        return cls(range, slide, (start_time + range) % slide)

    def first_evaluation_after(self, instant: int) -> int:
        """The smallest e > instant."""
        return instant + self.slide - (instant - self.offset) % self.slide

    def last_evaluation_until(self, instant: int) -> int:
        """The largest e ≤ instant."""
        return instant - (instant - self.offset) % self.slide
