"""Catalog and Spark's own record of a stream are of one moment, or nothing is read; what a power failure cut
short is taken back."""

from __future__ import annotations

import shutil
from threading import Event
from threading import enumerate as enumerate_threads

import pytest

import windrow
from tests.harness.faults import COMING_TO_REST, READING_BACK, at_steps, disturbed
from tests.harness.micro_batches import feeding
from tests.streams import Files, assert_answers, engine_on, same_events
from windrow.errors import HomeError


@pytest.fixture(scope="module")
def kept(spark, tmp_path_factory):
    """A home and its files at three moments, and a home that has read the same files at another time."""
    base = tmp_path_factory.mktemp("moments")
    files = Files(spark, base / "in")
    for moment, (first, last) in enumerate([(0, 40), (40, 90), (90, 120)]):
        files.add(first, last)
        engine_on(files, base / "home").run(seal=False)
        shutil.copytree(base / "home", base / f"at-{moment}")
        shutil.copytree(base / "in", base / f"in-{moment}")
    engine_on(files, base / "other").run(seal=False)
    return base


def put_together(kept, catalog, streams, tmp_path):
    """A home with the catalog of one copy and Spark's record of another; None: without one."""
    home = tmp_path / "home"
    shutil.copytree(kept / catalog, home)
    shutil.rmtree(home / "streams")
    if streams is not None:
        shutil.copytree(kept / streams / "streams", home / "streams")
    return home


@pytest.mark.parametrize(
    ("catalog", "streams", "told"),
    [
        ("at-1", "at-0", "has no batch 1, and the home has batch 1 as the last"),
        ("at-1", "at-2", "has batch 2 as done, and the home has batch 1 as the last"),
        ("at-2", "other", "has another batch 2, and the home has batch 2 as the last"),
        ("at-1", None, "is missing, and the home has batch 1 as the last"),
    ],
)
def test_a_home_of_two_moments_reads_nothing(spark, kept, tmp_path, catalog, streams, told):
    engine = windrow.Engine(put_together(kept, catalog, streams, tmp_path), spark=spark)
    before = engine.progress("events")
    for act in (lambda: engine.run(seal=False), engine.heartbeat):
        with pytest.raises(HomeError, match=rf"Spark's record of stream 'events', .*{told}.*`windrow backup"):
            act()
    assert engine.progress("events") == before


def test_who_is_refused_reads_nothing_back_behind_the_error(spark, kept, tmp_path):
    """States are read back in a thread while Spark gets ready; whoever sees the error may close the home."""
    come_to_rest = Event()

    def load(number, call, *_):
        come_to_rest.wait(60)
        return call()

    def rest(number, call, staging):
        come_to_rest.set()
        call()

    home = put_together(kept, "at-1", "at-0", tmp_path)
    with (
        disturbed(READING_BACK, load),
        disturbed(COMING_TO_REST, rest),
        windrow.Engine(home, spark=spark) as engine,
    ):
        with pytest.raises(HomeError, match="are not of one moment"):
            engine.run(seal=False)
        reading = [thread.name for thread in enumerate_threads() if thread.name.startswith("windrow preload")]
        come_to_rest.set()
    assert reading == []


def test_a_batch_must_be_the_next_one(spark, kept, tmp_path):
    """Also where Spark hands out another one in spite of its record."""
    shutil.copytree(kept / "at-1", tmp_path / "home")
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    with feeding(engine, "events") as feed:
        for batch in (0, 3):
            told = rf"hands out batch {batch} .*the last one that the home knows is 1"
            with pytest.raises(HomeError, match=told):
                feed.batch(None, batch)


def cut(*names, length):
    """Entries of a record cut short, with their checksums or without."""

    def damage(folder):
        for name in names:
            path = folder / name
            path.write_bytes(path.read_bytes()[:length])

    return damage


CUTS = {
    "what is done, empty": cut("commits/1", length=0),
    "what is done, half": cut("commits/1", length=20),
    "what is done, with its checksums": cut("commits/1", "commits/.1.crc", length=0),
    "checksums": cut("commits/.1.crc", "offsets/.2.crc", length=3),
    "half of the checksums": cut("commits/.1.crc", "offsets/.2.crc", length=10),
    "what is planned, empty": cut("offsets/2", length=0),
    "what is planned, half": cut("offsets/2", "offsets/.2.crc", length=60),
    "what is noted": cut("sources/0/2", length=10),
    "what is noted, with its name": lambda folder: (folder / "sources" / "0" / "2").unlink(),
    "all of it": cut("commits/1", "offsets/2", "sources/0/2", length=0),
}


@pytest.fixture(scope="module")
def interrupted(kept, spark):
    """The home that has committed two batches and planned a third."""
    shutil.copytree(kept / "at-1", kept / "interrupted")

    def stop(step):
        raise InterruptedError(step)

    with at_steps(stop), pytest.raises(windrow.WindrowError):
        windrow.Engine(kept / "interrupted", spark=spark).run(seal=False)
    assert (kept / "interrupted" / "streams" / "events" / "offsets" / "2").exists()
    return kept / "interrupted"


@pytest.mark.parametrize("what", CUTS)
def test_what_a_power_failure_cut_short_is_taken_back(spark, interrupted, tmp_path, what):
    home = tmp_path / "home"
    shutil.copytree(interrupted, home)
    CUTS[what](home / "streams" / "events")
    engine = windrow.Engine(home, spark=spark)
    engine.run(seal=True)
    assert engine.progress("events").rows == 1200
    assert_answers(engine, same_events(0, 120))


def test_before_the_first_commit_all_of_it_may_go(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    folder = tmp_path / "home" / "streams" / "events"
    engine = engine_on(files, tmp_path / "home")
    (folder / "offsets").mkdir(parents=True)
    (folder / "offsets" / "0").write_text("")
    (folder / "metadata").write_text("")
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 40))
