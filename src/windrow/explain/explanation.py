"""What `Engine.explain()` returns: the plan as text, which can also be drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import WindrowError
from windrow.explain.details import details
from windrow.explain.dot import dot
from windrow.explain.html import fragment, html
from windrow.explain.overview import overview
from windrow.explain.picture import picture
from windrow.explain.summary import summary
from windrow.final import shipped_costs
from windrow.planner.sharing import SECONDS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from windrow.explain.overview import Observed, StreamOverview
    from windrow.final import Costs
    from windrow.logical import AggregateQuery
    from windrow.planner.sharing import Constants

ENDINGS = (".html", ".svg", ".png", ".dot")


class Explanation(str):
    """The plan of a set of queries: a text, and pictures of it that stay readable for thousands of them."""

    __slots__ = ("streams",)

    streams: Sequence[StreamOverview]
    """The same as data."""

    def __new__(cls, text: str, streams: Sequence[StreamOverview]) -> Explanation:
        """The text of an overview."""
        made = super().__new__(cls, text)
        made.streams = streams
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
    queries: Mapping[str, AggregateQuery],
    quarantined: Mapping[str, str] | None = None,
    *,
    sql: bool = False,
    costs: Costs | None = None,
    constants: Constants = SECONDS,
    observed: Mapping[str, Observed] | None = None,
) -> Explanation:
    """The streams with their classes and trees, then a block a pass; `sql` adds what Spark runs.

    `quarantined` are queries that no longer run, with the reason; `costs` is what algorithms were
    measured to cost here, and `constants` what trees are priced by; `observed` is what is known of the
    streams, by name.
    """
    streams = overview(queries, observed, costs, constants)
    lines = [line for stream in streams for line in summary(stream)]
    lines += details(streams, sql=sql, costs=costs)
    if streams:
        lines.append(f"costs: {(costs or shipped_costs()).source}")
    lines += [f"query {name} is quarantined: {why}" for name, why in (quarantined or {}).items()]
    return Explanation("\n".join(lines) or "no queries", streams)
