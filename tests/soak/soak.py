"""Hundreds of kills, thousands of epochs: does anything differ, does anything grow?"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import takewhile
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks._harness import Bar, machine, publish
from tests.soak import proof
from tests.soak.child import QUICK
from tests.soak.contents import contents
from tests.soak.endurance import endure, growth
from tests.soak.figure import draw
from tests.soak.kills import ChildFailed, Player, judge, play_with_kills, random_kills

GROWTH = 1.15
"""How much the greatest value of the last quarter may exceed that of the second."""


def main() -> int:
    """Both parts at the same time, and the report."""
    parser = argparse.ArgumentParser(prog="script/soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="how many kills (0: none)")
    parser.add_argument("--epochs", type=int, default=10_000, help="how many epochs of endurance (0: none)")
    parser.add_argument("--minutes", type=float, default=240, help="at most this long for each part")
    parser.add_argument(
        "--seed", type=int, default=None, help="which steps and moments; printed if not given"
    )
    parser.add_argument("--directory", type=Path, help="where the homes are; kept if anything differs")
    parser.add_argument("--prove", action="store_true", help="only see that broken engines are noticed")
    arguments = parser.parse_args()
    if arguments.prove:
        return proof.main([])
    seed = random.SystemRandom().randrange(1 << 30) if arguments.seed is None else arguments.seed
    directory = arguments.directory or Path(tempfile.mkdtemp(prefix="windrow-soak-"))
    again = f"script/soak --seed {seed} --kills {arguments.kills} --epochs {arguments.epochs}"
    say(f"in {directory}; to repeat: {again}")
    report: dict[str, Any] = {"question": __doc__, "seed": seed, "machine": machine()}
    with ProcessPoolExecutor(1, get_context("spawn")) as another:
        endured = another.submit(enduring, directory / "endurance", arguments.epochs, arguments.minutes)
        report["kills"] = killing(directory / "kills", arguments.kills, seed, arguments.minutes)
        report |= endured.result()
    bars = [Bar("homes that differ after kills", len(report["kills"]["differences"]), 0, True)]
    if report["samples"]:
        last = report["samples"][-1]
        bars.append(Bar("things wrong after the endurance", len(report["wrong"]), 0, True))
        bars.append(Bar("files in the home, Spark's included", last["files"], 1000, True))
        bars += [Bar(f"growth of {what}", value, GROWTH, True) for what, value in report["growth"].items()]
    report["bars"] = [bar.row() for bar in bars]
    reached = report["samples"][-1]["epochs"] if report["samples"] else 0
    whole = report["kills"]["total"] >= 200 and reached >= 10_000
    kept = publish("soak", report, draw, quick=not whole)
    for line in [*report["kills"]["differences"], *report["wrong"]]:
        say(line)
    if not kept:
        say(f"kept in {directory}; to repeat: {again}")
    elif arguments.directory is None:
        shutil.rmtree(directory)
    return 0 if kept else 1


def killing(directory: Path, count: int, seed: int, minutes: float) -> dict[str, Any]:
    """Kill so often, a home after the other, and compare each with one that was never killed."""
    done: Counter[str] = Counter()
    found: list[str] = []
    total = homes = 0
    began = time.monotonic()
    if count:
        Player(directory / "never-killed").play()
        truth = contents(directory / "never-killed" / "home")
        say(f"never killed: {time.monotonic() - began:.0f} s, {truth.epochs.total()} parts of epochs")
        kills = random_kills(seed)

        def more() -> bool:
            return total < count and time.monotonic() - began < 60 * minutes

        while more():
            home = directory / f"home-{homes}"
            homes += 1
            try:
                for kill in play_with_kills(home, takewhile(lambda _: more(), kills)):
                    total += 1
                    done.update(kill.kinds)
                    say(f"{home.name}: kill {total} {kill}")
                report = judge(truth, home)
            except ChildFailed as error:
                report = [str(error)]
            say(f"{home.name}: {'the same' if not report else 'DIFFERENT'}, {time.monotonic() - began:.0f} s")
            if report:
                found.append("\n".join([str(home), *report]))
                say(found[-1])
            else:
                shutil.rmtree(home)
    return {"total": total, "homes": homes, "by_step": dict(done), "differences": found,
            "seconds": round(time.monotonic() - began)}  # fmt: skip


def enduring(directory: Path, epochs: int, minutes: float) -> dict[str, Any]:
    """The endurance, in a process and a session of its own."""
    if not epochs:
        return {"samples": [], "wrong": [], "growth": {}}
    from windrow.runtime.spark.session import local_session

    spark = local_session("windrow-soak")
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    found = endure(directory, spark, epochs, minutes, say)
    spark.stop()
    return found | {"growth": growth(found["samples"])}


def say(line: str) -> None:
    """Progress."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
