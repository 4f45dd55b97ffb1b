from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCE = """
import windrow

class Total(windrow.OwnAggregate):
    state = float
    def lift(self, x): return x * 1.0
    def combine(self, a, b): return a + b
    def lower(self, s): return s

class Wrong(Total):
    def combine(self, a, b): return a - b
"""


def test_a_class_can_be_checked_again(tmp_path):
    """By another process, which finds the compiled kernels of the first on disk."""
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    for _ in range(2):
        check = [Path(sys.executable).with_name("windrow"), "check", f"{file}:Total", "--examples", "5"]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(check, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "Total keeps its laws" in done.stdout


def test_check(windrow, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    result = windrow("check", f"{file}:Total")
    assert result.exit_code == 0, result.output
    assert "Total keeps its laws" in result.stdout
    result = windrow("check", str(file), "--examples", "30")
    assert result.exit_code == 1
    assert "✗ associativity: combine(combine(" in result.stdout
    assert "error: Wrong would give wrong answers" in result.stderr
    assert "did you mean Total?" in windrow("check", f"{file}:Totle").stderr
    assert "there is no file" in windrow("check", "nowhere.py").stderr
