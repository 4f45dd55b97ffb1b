"""What `Engine.explain()` returns: the plan as text, which can also be drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import WindrowError
from windrow.explain.details import details
from windrow.explain.dot import dot
from windrow.explain.html import fragment, html
from windrow.explain.overview import overview
from windrow.explain.picture.drawing import picture
from windrow.explain.summary import summary
from windrow.planner.plan import NOTHING

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from windrow.explain.overview import StreamOverview
    from windrow.final import Costs
    from windrow.planner.plan import PhysicalPlan

ENDINGS = (".html", ".svg", ".png", ".dot")


class Explanation(str):
    """The plan of a set of queries: a text, and pictures of it that stay readable for thousands of them."""

    __slots__ = ("plan", "streams")

    plan: PhysicalPlan
    """The plan itself: the one that runs, or with which the next epoch begins."""
    streams: Sequence[StreamOverview]
    """The plan, arranged for people."""

    def __new__(cls, text: str, plan: PhysicalPlan, streams: Sequence[StreamOverview]) -> Explanation:
        """The text of a plan."""
        made = super().__new__(cls, text)
        made.plan, made.streams = plan, streams
        return made

    def to_svg(self) -> str:
        """One picture, in itself complete."""
        return picture(self.streams).svg()

    def to_html(self) -> str:
        """A page with the picture, a table of the trees, and the text; it needs nothing else."""
        return html(self.streams, self)

    def _repr_html_(self) -> str:
        return fragment(self.streams, self)

    def to_dot(self) -> str:
        """Streams, passes, classes and trees as a graph, for Graphviz."""
        return dot(self.streams)

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Write a picture, of the kind that the name ends in: .html, .svg, .png or .dot."""
        file = Path(path)
        check_ending(file)
        try:
            if file.suffix.lower() == ".png":
                picture(self.streams).write_png(file)
            else:
                made = {".html": self.to_html, ".svg": self.to_svg, ".dot": self.to_dot}[file.suffix.lower()]
                file.write_text(made(), encoding="utf-8")
        except OSError as error:
            raise WindrowError(f"cannot write {file}: {error.strerror or error}") from error


def check_ending(path: str | os.PathLike[str]) -> None:
    """Raise a WindrowError if pictures are not drawn to such files."""
    file = Path(path)
    if file.suffix.lower() not in ENDINGS:
        ends = f"ends in {file.suffix}" if file.suffix else "has no ending"
        raise WindrowError(f"{file} {ends}; a picture is drawn to a file in {', '.join(ENDINGS)}")


def explain(
    plan: PhysicalPlan,
    running: PhysicalPlan = NOTHING,
    quarantined: Mapping[str, str] | None = None,
    *,
    costs: Costs,
    sql: bool = False,
) -> Explanation:
    """The streams with their classes and trees, then a block a pass; `sql` adds what Spark runs.

    `running` is the plan that runs so far, `quarantined` are queries that no longer run, with the reason, and
    `costs` what algorithms were chosen by.
    """
    streams = overview(plan, running)
    lines = [line for stream in streams for line in summary(stream)]
    lines += details(streams, sql=sql)
    if streams:
        lines.append(f"costs: {costs.source}")
    lines += [f"query {name} is quarantined: {why}" for name, why in (quarantined or {}).items()]
    return Explanation("\n".join(lines) or "no queries", plan, streams)
