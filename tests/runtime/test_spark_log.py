"""Spark's record of a stream of files: what was noted and not planned is taken back, and nothing else."""

from __future__ import annotations

import pytest

from windrow.runtime.home.checkpoint_log import tidy

PLANNED = 'v1\n{"batchWatermarkMs":0}\n{"logOffset":%s}'


@pytest.fixture
def folder(tmp_path):
    """A checkpoint whose last planned batch has read up to entry 9, and a source that has noted 11."""
    for name in ("offsets", "commits", "sources/0"):
        (tmp_path / name).mkdir(parents=True)
    for number in range(8, 12):
        name = f"{number}.compact" if number == 9 else str(number)
        (tmp_path / "sources" / "0" / name).write_text("v1")
        (tmp_path / "sources" / "0" / f".{name}.crc").write_text("crc")
    (tmp_path / "offsets" / "4").write_text(PLANNED % 8)
    (tmp_path / "offsets" / "5").write_text(PLANNED % 9)
    (tmp_path / "offsets" / ".5.crc").write_text("crc")
    return tmp_path


def names(folder):
    return sorted(path.name for path in (folder / "sources" / "0").iterdir())


def test_what_no_batch_reads_is_taken_back(folder):
    tidy(folder)
    assert names(folder) == [".8.crc", ".9.compact.crc", "8", "9.compact"]
    assert sorted(path.name for path in (folder / "offsets").iterdir()) == [".5.crc", "4", "5"]


def test_before_the_first_batch_nothing_is_planned(folder):
    for path in (folder / "offsets").iterdir():
        path.unlink()
    tidy(folder)
    assert names(folder) == []


def test_drafts_go(folder):
    for place in ("offsets", "commits", "sources/0"):
        (folder / place / ".12.0af.tmp").write_text("half")
        (folder / place / "..12.0af.tmp.crc").write_text("crc")
    tidy(folder)
    assert not [*folder.rglob("*tmp*")]


@pytest.mark.parametrize(
    "offsets",
    [
        "",
        "v1",
        "v2" + PLANNED[2:] % 9,
        PLANNED % 9 + '\n{"logOffset":3}',  # two sources
        PLANNED % "null",
        "v1\n{}\n-",
        'v1\n{}\n{"topic":{"0":1}}',
    ],
)
def test_what_is_not_as_expected_is_left_alone(folder, offsets):
    before = names(folder)
    (folder / "offsets" / "5").write_text(offsets)
    tidy(folder)
    assert names(folder) == before


def test_other_things_are_left_alone(folder):
    (folder / "sources" / "0" / "12days").write_text("")
    (folder / "sources" / "1").mkdir()
    (folder / "sources" / "1" / "99").write_text("")
    tidy(folder)
    assert names(folder) == [".8.crc", ".9.compact.crc", "12days", "8", "9.compact"]
    assert (folder / "sources" / "1" / "99").exists()


def test_a_folder_that_is_not_there_yet_is_fine(tmp_path):
    tidy(tmp_path / "none")
