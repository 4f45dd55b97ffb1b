"""How many random examples a test has, and whether they are the same as last time.

`script/test` draws the same examples in every run, on every machine and in any order of the tests: what it
finds, everybody finds. With WINDROW_LONG=1 they are new ones, and ten times as many where an example runs
Spark; `script/test` prints the seed that draws them again.
"""

import os
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.internal.conjecture import providers

LONG = "WINDROW_LONG" in os.environ


def examples(few: int) -> int:
    """So many, or ten times as many."""
    return few * 10 if LONG else few


def register_profiles() -> None:
    """Set Hypothesis up: the profile of all tests, and `spark`, for those whose examples run Spark."""
    settings.register_profile(
        "windrow",
        deadline=None,
        max_examples=60,
        derandomize=not LONG,
        database=None,
        print_blob=False,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    # An example that runs Spark takes a second; shrinking one would take hundreds of them.
    settings.register_profile(
        "spark", settings.get_profile("windrow"), max_examples=6, phases=[Phase.explicit, Phase.generate]
    )
    settings.load_profile("windrow")
    set_hypothesis_home_dir(Path(__file__).parents[1] / ".venv/cache/hypothesis")
    if not LONG:
        ignore_loaded_modules()


def ignore_loaded_modules() -> None:
    """Let examples depend on their test alone.

    Hypothesis also draws constants that it reads in the modules that happen to be loaded, so that an example
    would depend on which tests ran before in the same process. `tests/test_examples.py` notices if a new
    release of Hypothesis goes another way about it.
    """
    providers.is_local_module_file = lambda path: False
