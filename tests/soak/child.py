"""Plays the story in a process of its own, which can be told to die at a step.

python -m tests.soak.child DIRECTORY

Begins when it is given a line: STEP:N, to die when the step is reached for the N-th time, or an empty one.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections import Counter
from pathlib import Path

from tests.soak.scenario import STORY, compact_often, play
from windrow.runtime import faults
from windrow.runtime.session import local_session

QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For batches of forty rows in a process that lives for seconds: nothing worth compiling or adapting."""


def main() -> None:
    """Play; the last line is "finished", if it comes to that."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    arguments = parser.parse_args()
    compact_often()
    spark = local_session("windrow-soak")
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    step, _, number = sys.stdin.readline().strip().rpartition(":")
    if step:
        kill_at(step, int(number))
    say("ready")
    play(STORY, arguments.directory, spark, say)
    spark.stop()


def kill_at(step: str, number: int) -> None:
    """Kill this process and the JVM at a step, as if the power had gone."""
    if step not in faults.STEPS:
        raise SystemExit(f"no step {step!r}; there are {', '.join(faults.STEPS)}")
    reached: Counter[str] = Counter()

    def die(name: str) -> None:
        reached[name] += 1
        if name == step and reached[name] == number:
            os.killpg(0, signal.SIGKILL)

    faults.on_step = die


def say(line: str) -> None:
    """Progress, for the parent."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
