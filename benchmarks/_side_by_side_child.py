"""The processes of `_side_by_side.py`, which run in one tree or the other.

python _side_by_side_child.py trimmed NAME OUTCOME TAKING GIVING    a benchmark of the tree in which it is run
python _side_by_side_child.py places                                which Windrow is found, as JSON
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from _session import session
from _side_by_side_trimmed import TRIMMED
from _side_by_side_turns import Turns


def trimmed(name: str, outcome: str, taking: str, giving: str) -> None:
    """Run the trimmed benchmark of the tree that is the working directory, in turns with the other."""
    turns = Turns(int(taking), int(giving))
    turns.take()
    sys.path[0] = str(Path("benchmarks").resolve())
    with tempfile.TemporaryDirectory(prefix="windrow-side-by-side-") as scratch:
        report = TRIMMED[name](import_module(name), Path(scratch), turns)
    Path(outcome).write_text(json.dumps(report), encoding="utf-8")


def places() -> None:
    """Print which Windrow this process, one that it starts, and a worker of Spark's find."""
    import pyarrow as pa

    def found(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import windrow

        yield pa.RecordBatch.from_pydict({"place": [windrow.__file__]})

    import windrow

    command = [sys.executable, "-c", "import windrow; print(windrow.__file__)"]
    started = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    (worker,) = session().range(1).coalesce(1).mapInArrow(found, "place STRING").collect()
    print(json.dumps([windrow.__file__, started, worker["place"]]))


if __name__ == "__main__":
    {"trimmed": trimmed, "places": places}[sys.argv[1]](*sys.argv[2:])
