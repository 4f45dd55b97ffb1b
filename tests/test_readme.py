"""What the README says is what happens: its code runs, its output is the output, its commands work."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from windrow.cli.main import main

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
COMMANDS = [
    pytest.param(code, id=code.splitlines()[0].split("#")[0].strip()) for kind, code in BLOCKS if kind == "sh"
]


def test_the_python_in_the_readme_prints_what_the_readme_says(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names: dict[str, object] = {}
    checked = 0
    for number, (kind, code) in enumerate(BLOCKS):
        if kind == "python":
            exec(compile(code, f"README.md block {number}", "exec"), names)
            printed = capsys.readouterr().out
        elif kind == "" and BLOCKS[number - 1][0] == "python":
            assert printed.strip() == code.strip()
            checked += 1
    assert checked == 4


@pytest.mark.parametrize("commands", COMMANDS)
def test_the_commands_in_the_readme_work(spark, monkeypatch, commands):
    """`windrow` in this process, where Spark is there already.

    `script/test` is what runs this, and tests/cli/test_demo.py runs `script/demo`.
    """
    monkeypatch.chdir(ROOT)
    for line in commands.splitlines():
        match shlex.split(line, comments=True):
            case ["script/test" | "script/demo"]:
                pass
            case ["cd", folder]:
                monkeypatch.chdir(folder)
            case ["windrow", *arguments]:
                assert shutil.which("windrow", path=Path(sys.executable).parent)
                result = CliRunner().invoke(main, arguments, catch_exceptions=False)
                assert result.exit_code == 0, result.output
                assert result.stdout.strip()
            case _:
                pytest.fail(f"nobody tries {line!r}")


def test_the_statements_in_the_readme_are_those_of_the_example():
    (statements,) = [code for kind, code in BLOCKS if kind == "sql"]
    assert statements.strip() == (ROOT / "examples/sensors/sensors.cql").read_text().strip()


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda p: p.name
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
