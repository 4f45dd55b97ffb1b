"""What a run leaves behind in memory, here and in the JVM: nothing."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

from tests.harness.faults import READER_START, disturbed
from tests.streams import Files, assert_answers, engine_on, same_events
from windrow.api import running


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    files.add(40, 90)
    return files


def test_a_run_leaves_nothing_in_memory(spark, files, tmp_path, monkeypatch):
    """Neither here nor in the JVM, where each reader has a query, and each query its reader's callback."""
    monkeypatch.setattr(running, "LITTER", 10)
    readers = []

    def noted(number, call, reader):
        readers.append(weakref.ref(reader))
        call()

    engine = engine_on(files, tmp_path / "home")
    gc.disable()  # only the engine's own collections count
    try:
        with disturbed(READER_START, noted):
            engine.run(seal=False)
            with engine.start() as live:
                live.process_available()
            del live
            engine.run(seal=False)  # collects what the one before has left
        patience = time.monotonic() + 60
        while any(reader() for reader in readers[:-1]) and time.monotonic() < patience:
            spark.sparkContext._jvm.System.gc()
            time.sleep(0.1)
    finally:
        gc.enable()
    assert [reader() for reader in readers[:-1]] == [None, None]


def test_a_run_leaves_no_thread_behind(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    engine.run(seal=False)
    before = threading.active_count()
    for second in (90, 100, 110):
        files.add(second, second + 10)
        engine.run(seal=False)
    files.add(120, 130)
    with engine.start() as live:
        live.process_available()
    patience = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < patience:
        time.sleep(0.1)
    assert threading.active_count() <= before
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 130))
