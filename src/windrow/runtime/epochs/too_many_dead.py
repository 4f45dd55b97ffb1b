"""When the dead letters of a stream are too many to go on: most of its first batch, or more than MAX DEAD."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from windrow.errors import MostlyDead, SourceError
from windrow.runtime.epochs.dead_reasons import TO_CHECK, dead_reasons, lines_of_reasons
from windrow.runtime.spark.refused import dead_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from windrow.logical import Stream
    from windrow.planner import Bounds, Tally
    from windrow.runtime.epochs.collecting import Collecting
    from windrow.runtime.home.records import Progress
    from windrow.runtime.spark.headers import Header
    from windrow.runtime.spark.sources import FileSource


def check_first_batch(
    stream: Stream,
    batch: DataFrame,
    bounds: Bounds,
    source: FileSource | None,
    headers: Sequence[Header],
    tally: Tally,
    collecting: Collecting,
) -> None:
    """Refuse a stream's first batch if most of it is dead: not the rows are wrong then, but what they are
    taken for. As long as nothing is committed, it may be declared otherwise."""
    if stream.max_dead is not None or 2 * tally.dead <= tally.rows:
        return
    dead = dead_rows(stream, batch, bounds, source, headers)
    reasons = collecting.read(partial(dead_reasons, dead))
    count = f"{tally.dead:,} of its first {tally.rows:,} rows"
    raise MostlyDead(
        f"dead letters of stream '{stream.name}': {count}, so none of them is taken in\n"
        f"{lines_of_reasons(reasons, tally.dead)}\n{TO_CHECK}; then run it again, in this home too, which is "
        "as it was. If the rows are as they should be, say with MAX DEAD (max_dead) how many may be dead"
    )


def check_dead(stream: Stream, progress: Progress) -> None:
    """Stop loudly when a stream has more dead letters than its declaration allows."""
    bound, dead, name = stream.max_dead, progress.dead, stream.name
    if bound is not None and dead > bound:
        raise SourceError(
            f"stream '{name}' has {dead:,} dead letters, more than its MAX DEAD of {bound:,}; "
            f"eng.dead('{name}') has them. Repair the source, or declare the stream with a larger MAX DEAD"
        )
