"""A copy of a home is of one moment, whatever an engine does there meanwhile, and goes on as the home would."""

from __future__ import annotations

import os
import shutil

import pytest

import windrow
from tests.harness.faults import STEPS, at_steps
from tests.harness.on_disk import held
from tests.streams import Files, assert_answers, engine_on, same_events
from windrow.api.homes import back_up_home
from windrow.errors import HomeError
from windrow.runtime.home.home import Home


def test_a_home_that_runs_is_copied_at_every_step_and_each_copy_goes_on(spark, tmp_path):
    """The files that come later are there for the copies, too: they answer as if they had run all the time."""
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    engine = engine_on(files, tmp_path / "home", delay="5 seconds")
    copies = {}

    def copy(step):
        # A copy waits for a transaction that is open.
        if step != "transaction open" and engine.status().epoch >= 0 and step not in copies:
            copies[step] = tmp_path / "copies" / step
            back_up_home(tmp_path / "home", copies[step])

    with engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        with at_steps(copy):
            for start in (40, 60, 80):
                files.add(start, start + 20)
                live.process_available()
    epochs = {step for step in STEPS if "compact" not in step} - {"transaction open"}
    assert copies.keys() >= epochs
    assert not [*(tmp_path / "home").glob("backup-*")]
    for step in sorted(epochs):
        copied = windrow.Engine(copies[step], spark=spark)
        copied.check()
        assert copied.progress("events").rows < 1000
        copied.run(seal=True)
        assert copied.progress("events").rows == 1000
        assert_answers(copied, same_events(0, 100))


@pytest.fixture
def place(tmp_path):
    home = Home(tmp_path / "home")
    home.define("s", "stream", {})
    home.close()
    return tmp_path


def test_a_copy_belongs_to_nobody(place):
    with Home(place / "home").running():
        back_up_home(place / "home", place / "copy")
    assert Home(place / "copy").catalog.rows("SELECT token, owner FROM about") == [(None, None)]
    assert (place / "copy").stat().st_mode & 0o777 == 0o700


def test_a_copy_goes_where_nothing_is(place):
    (place / "full").mkdir()
    (place / "full" / "notes.txt").write_text("mine")
    for target, told in (
        ("full", "full is there already, and not empty"),
        ("full/notes.txt", "is there already"),
        ("home/copy", "cannot be inside of it"),
        ("home", "cannot be inside of it"),
    ):
        with pytest.raises(HomeError, match=told):
            back_up_home(place / "home", place / target)
    with pytest.raises(HomeError, match="there is no home at"):
        back_up_home(place / "nowhere", place / "copy")
    (place / "empty").mkdir()
    assert back_up_home(place / "home", place / "empty") == 0


def test_a_damaged_file_is_named_and_the_copy_is_no_home(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 90)
    engine_on(files, tmp_path / "home").run(seal=False)
    damaged = max((tmp_path / "home").glob("results/*/*.parquet"))
    content = damaged.read_bytes()
    damaged.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with pytest.raises(HomeError, match=rf"{damaged.name} is not what was written: its checksum differs"):
        back_up_home(tmp_path / "home", tmp_path / "copy")
    assert not (tmp_path / "copy" / "catalog.db").exists()
    damaged.unlink()
    with pytest.raises(HomeError, match=rf"home/.*{damaged.name} is missing"):
        back_up_home(tmp_path / "home", tmp_path / "other")


def test_files_that_cannot_be_linked_are_copied_only_while_no_engine_waits(spark, tmp_path, monkeypatch):
    files = Files(spark, tmp_path / "in")
    files.add(0, 90)
    engine = engine_on(files, tmp_path / "home")
    engine.run(seal=False)

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with held(engine), pytest.raises(HomeError, match=r"could not be copied .* not permitted"):
        engine.backup(tmp_path / "copy")
    assert engine.backup(tmp_path / "copy") == 2
    assert windrow.Engine(tmp_path / "copy", spark=spark).check() == 2


def test_links_of_a_copy_that_was_interrupted_go_with_the_next_start(place, monkeypatch):
    (place / "home" / "backup-12345678").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # as after a kill
        back_up_home(place / "home", place / "copy")
    assert len([*(place / "home").glob("backup-*")]) == 2
    with Home(place / "home").running():
        assert not [*(place / "home").glob("backup-*")]
