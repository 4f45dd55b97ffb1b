"""Directories of streams: inside the home, one for each, and where homes of earlier formats had them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from tests.homes import ODD, make_home, take_back_to_format_4
from windrow.runtime.home.folder_names import folder_name
from windrow.runtime.home.home import Home
from windrow.runtime.home.records import Advance, Epoch, Progress

NAMES = ["flights", "Flüge", "航班", "a-b_c", "x" * 255, "ß"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_letters_and_digits_stay_as_they_are(name):
    assert folder_name(name) == name.lower()


any_name = st.text("./\\%-aAü\0 ", min_size=1, max_size=6) | st.text(min_size=1, max_size=20)


@given(one=any_name, other=any_name)
def test_any_name_is_one_directory_and_no_two_share_one(one, other):
    safe = folder_name(one)
    assert Path("streams", safe).parts == ("streams", safe)
    assert os.path.normpath(safe) == safe not in (".", "..")
    assert "\0" not in safe
    assert len(safe.encode()) <= 255
    assert (safe == folder_name(other)) == (one.lower() == other.lower())
    assert safe == folder_name(one.lower())


def test_names_that_are_too_long_stay_apart():
    names = [start + "x" * 300 + end for start in ("", "/", "ü" * 200) for end in ("a", "b")]
    assert len({folder_name(name) for name in names}) == len(names)
    assert all(len(folder_name(name).encode()) <= 255 for name in names)


def home_of_format_4(path, stream):
    """A home in which a stream has been read, under its bare name."""
    make_home(path)
    home = Home(path)
    home.define(stream, "stream", {})
    with home.running():
        home.commit(Epoch(1, 0.0, streams={stream: Advance(Progress(0, None, None), None)}))
    with home.catalog.transaction() as database:
        take_back_to_format_4(database.execute)
    home.close()
    checkpoint = Path(os.path.normpath(path / "streams" / stream.lower()))
    (checkpoint / "offsets").mkdir(parents=True)
    return checkpoint


@pytest.mark.parametrize("stream", [ODD, "New Flights", "a/b", "a/offsets"])
def test_a_home_of_format_4_keeps_what_spark_noted_of_an_odd_stream(tmp_path, stream):
    checkpoint = home_of_format_4(tmp_path / "home", stream)
    Home(tmp_path / "home").close()
    assert not checkpoint.exists()
    assert (tmp_path / "home" / "streams" / folder_name(stream) / "offsets").is_dir()


def test_a_stream_of_format_4_that_led_out_of_the_home_is_not_fetched_from_there(tmp_path):
    """Whoever can write a catalog must not have an engine move directories of others about."""
    checkpoint = home_of_format_4(tmp_path / "home", "../../elsewhere")
    assert checkpoint == tmp_path / "elsewhere"
    with pytest.raises(
        windrow.HomeError, match=r"if it is this stream's, move it to .*%2felsewhere, and open"
    ):
        Home(tmp_path / "home")
    checkpoint.rename(tmp_path / "home" / "streams" / folder_name("../../elsewhere"))
    Home(tmp_path / "home").close()


def test_a_new_home_is_its_owners_and_one_that_is_there_keeps_its_mode(tmp_path):
    before = os.umask(0o022)
    try:
        (tmp_path / "shared").mkdir(0o755)
        for name in ("made/home", "shared"):
            Home(tmp_path / name).close()
            Home(tmp_path / name).close()
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("made", "made/home", "shared")}
    assert modes == {"made": 0o755, "made/home": 0o700, "shared": 0o755}
