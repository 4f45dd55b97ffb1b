"""Proof that the comparison of homes can fail: engines are broken in every known way, and it must notice.

python -m tests.soak.proof [WORD …]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.breakages import BREAKAGES, SOUND, Breakage, broken
from tests.harness.faults import IN_AN_EPOCH
from tests.soak.contents import Contents, contents
from tests.soak.interruptions import Interruptions
from tests.soak.kills import judge
from tests.soak.scenario import SHORT, compact_often, play
from windrow.errors import HomeError
from windrow.runtime.home import compaction
from windrow.runtime.spark import patience
from windrow.runtime.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(chosen: list[str]) -> int:
    """Break the engine in every way, one after the other; 1 if a breakage goes unnoticed."""
    compact_often()
    compaction.FAN = 2
    patience.PAUSES = (0.0,) * len(IN_AN_EPOCH)
    spark = local_session("windrow-breakages")
    unnoticed = 0
    with tempfile.TemporaryDirectory(prefix="windrow-broken-") as name:
        directory = Path(name)
        play(SHORT, directory / "sound", spark)
        truth = contents(directory / "sound" / "home")
        if found := _attempt(SOUND, truth, directory / "control", spark):
            print("the engine as it is fails already:", *found, sep="\n    ")
            return 1
        for number, breakage in enumerate(BREAKAGES):
            if chosen and not any(word in breakage.name for word in chosen):
                continue
            report = _attempt(breakage, truth, directory / str(number), spark)
            unnoticed += not report
            print(
                f"{'noticed' if report else 'UNNOTICED'}: {breakage.name}",
                *report[:4],
                sep="\n    ",
                flush=True,
            )
    spark.stop()
    return 1 if unnoticed else 0


def _attempt(breakage: Breakage, truth: Contents, directory: Path, spark: SparkSession) -> list[str]:
    interruptions = Interruptions(breakage.steps, passing=breakage.passing)
    try:
        with broken(breakage):
            interruptions.play(directory, spark, same_engine=breakage.same_engine)
            found = judge(truth, directory)
    except HomeError as error:  # the engine itself noticed; anything else is no proof
        return [f"HomeError: {error}"]
    return (
        [f"interrupted {len(interruptions.done)} times; {len(found)} lines of report", *found]
        if found
        else []
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
