"""Random examples are the same every time: whatever ran before, and whatever else is loaded."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import LONG


def drawn() -> list[tuple[int, str, float]]:
    """The examples of a test that is run now."""
    found = []

    @settings(max_examples=200)
    @given(st.integers(), st.text(), st.floats())
    def note(whole, text, number):
        found.append((whole, text, repr(number)))

    note()
    return found


@pytest.mark.skipif(LONG, reason="new examples are what a long run is for")
def test_examples_do_not_depend_on_what_is_loaded(monkeypatch, tmp_path):
    first = drawn()
    assert len(first) > 100
    assert drawn() == first
    constants = ModuleType("constants")
    source = tmp_path / "constants.py"
    source.write_text("".join(f"x{n} = {n * 7919}\ny{n} = '{n}z'\n" for n in range(1, 50)))
    constants.__file__ = str(source)
    monkeypatch.setitem(sys.modules, "constants", constants)
    assert drawn() == first
