"""Machine code on disk: found again, never given for other types, and gone when its source has changed."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from windrow.machine_code import FileForEach

SOURCE = """
from windrow.machine_code import compiled

@compiled
def scaled(x):
    return {factor} * x
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with a kernel, loaded as another process would."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    # Python would take the bytecode of a source that was as long and written in the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    place = tmp_path / "module_with_a_kernel.py"

    def load(factor):
        place.write_text(SOURCE.format(factor=factor))
        spec = importlib.util.spec_from_file_location("module_with_a_kernel", place)
        loaded = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "module_with_a_kernel", loaded)
        spec.loader.exec_module(loaded)
        return loaded

    return load


def hits(module):
    return sum(module.scaled.stats.cache_hits.values())


def test_code_is_found_again_for_the_types_it_was_compiled_for(module, tmp_path):
    first = module(3)
    assert (first.scaled(2), first.scaled(0.5)) == (6, 1.5)
    assert hits(first) == 0
    again = module(3)
    assert (again.scaled(0.5), again.scaled(2)) == (1.5, 6)
    assert hits(again) == 2
    assert len([*tmp_path.rglob("*.nbc")]) == 2


def test_code_of_another_source_is_not_used_and_does_not_stay(module, tmp_path):
    module(3).scaled(2)
    (old,) = tmp_path.rglob("*.nbc")
    changed = module(5)
    assert changed.scaled(2) == 10
    assert hits(changed) == 0
    (new,) = tmp_path.rglob("*.nbc")
    assert new != old


def test_processes_that_write_at_once_do_not_mix_up_their_code(tmp_path):
    """Each has looked before the other has written."""
    one, other = (FileForEach(str(tmp_path), "kernel", b"source") for _ in range(2))
    assert one.load("whole numbers") is None
    assert other.load("floats") is None
    one.save("whole numbers", "code for whole numbers")
    other.save("floats", "code for floats")
    assert (other.load("whole numbers"), one.load("floats")) == ("code for whole numbers", "code for floats")


def test_a_file_that_is_for_other_types_is_not_believed(tmp_path):
    files = FileForEach(str(tmp_path), "kernel", b"source")
    files.save("floats", "code for floats")
    (floats,) = tmp_path.glob("*.nbc")
    files.save("whole numbers", "code for whole numbers")
    (whole_numbers,) = set(tmp_path.glob("*.nbc")) - {floats}
    whole_numbers.replace(floats)
    assert files.load("floats") is None
