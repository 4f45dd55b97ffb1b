"""Plays the story in a process of its own, which can be told to die at a step, and be disturbed before.

python -m tests.soak.child DIRECTORY

Begins when it is given a line: JSON with what `kills.Kill` says, or {} to play to the end.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from tests.harness.faults import STEPS, at_steps
from tests.soak.scenario import STORY, compact_often, play
from windrow.runtime.home.home import Home
from windrow.runtime.spark.session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

ENDS = {"the JVM dies": "Error", "a second writer": "was taken over by process"}
"""How a process ends at a step, other than by a kill, and what it says then."""
CANCELLING, ENDED = Lock(), Event()
"""Held while jobs are cancelled; set when the engine has nothing more to do."""
DISTURBANCES = ("suspended", "jobs cancelled")
"""What happens to a process at its first step, and must change nothing."""

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
    faulthandler.enable()  # a process that crashes says where
    compact_often()
    spark = local_session("windrow-soak", lambda: import_module("windrow.api.engine"))
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    told = json.loads(sys.stdin.readline())
    with at_steps(happenings(told, spark, arguments.directory / "home")) if told else nullcontext():
        say("ready")
        play(STORY, arguments.directory, spark, hear)
    spark.stop()


def happenings(told: dict[str, Any], spark: SparkSession, home: Path) -> Callable[[str], None]:
    """What is to happen to this process when it reaches its steps."""
    if told["step"] is not None and told["step"] not in STEPS:
        raise SystemExit(f"no step {told['step']!r}; there are {', '.join(STEPS)}")
    context: Any = spark.sparkContext
    java = context._jvm.ProcessHandle.current().pid()
    reached: Counter[str] = Counter()

    def happen(step: str) -> None:
        reached[step] += 1
        if reached.total() == 1 and told["disturbance"] == "suspended":
            suspend(seconds=1)
        if reached.total() == 1 and told["disturbance"] == "jobs cancelled":
            Thread(target=cancel_jobs, args=(context, 10), daemon=True).start()
        if step == told["step"] and reached[step] == told["number"]:
            if told["end"] == "the JVM dies":
                os.kill(java, signal.SIGKILL)
            elif told["end"] == "a second writer":
                take_over(home)
            else:
                os.killpg(0, signal.SIGKILL)

    return happen


def suspend(seconds: int) -> None:
    """Stop this process and the JVM for a while, as a machine does that is put to sleep."""
    group = os.getpgid(0)
    script = f"kill -STOP -{group}; sleep {seconds}; kill -CONT -{group}"
    subprocess.Popen(["bash", "-c", script], start_new_session=True)


def cancel_jobs(context: Any, times: int) -> None:
    """Cancel whatever Spark is doing, again and again for a while, but not what only reads the results."""
    for _ in range(times):
        with CANCELLING:
            if ENDED.is_set():
                return
            context.cancelAllJobs()
        time.sleep(0.1)


def hear(line: str) -> None:
    """Hand on what the story says; when it comes to reading the results, nothing is cancelled any more."""
    if line == "reading":
        with CANCELLING:
            ENDED.set()
    say(line)


def take_over(home: Path) -> None:
    """Run on the home as another engine would that does not see the lock of this one."""
    (home / "lock").unlink()
    with Home(home).running():
        pass


def say(line: str) -> None:
    """Progress, for the parent."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
