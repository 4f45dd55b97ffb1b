"""Silence is what was listened to: from the last batch to the last look of Spark's that found nothing."""

from __future__ import annotations

import pytest

from windrow.runtime.epochs import listening
from windrow.runtime.epochs.listening import Listening


class Times:
    """The system's clock, the monotonic one, and when Spark last looked."""

    def __init__(self):
        self.wall, self.steady, self.look = 1_000_000.0, 50.0, None

    def pass_by(self, seconds):
        self.wall += seconds
        self.steady += seconds

    def heard(self, listening):
        since, until = listening.silence()
        return max(until - since, 0)


@pytest.fixture
def times(monkeypatch):
    times = Times()
    monkeypatch.setattr(listening, "monotonic", lambda: times.steady)
    return times


def by_the_system(times):
    return Listening(lambda: times.wall, 1.0, lambda: times.look)


def test_silence_reaches_as_far_as_the_last_look(times):
    heard = by_the_system(times)
    times.pass_by(100)
    assert times.heard(heard) == 0  # Spark has not looked yet
    times.look = times.wall
    times.pass_by(3600)  # suspended, or listing a directory: nobody looked
    assert times.heard(heard) == 100
    times.look = times.wall
    assert times.heard(heard) == 3700


def test_a_batch_ends_the_silence(times):
    heard = by_the_system(times)
    times.pass_by(100)
    times.look = times.wall
    times.pass_by(10)
    heard.begin()
    assert times.heard(heard) == 0  # what Spark saw before it took the rows counts no more
    times.pass_by(5)
    times.look = times.wall
    assert times.heard(heard) == 5


def test_where_the_clock_outruns_the_monotonic_one_the_count_starts_anew(times):
    """The machine slept, and whoever writes to the source may have slept with it; or the clock was set."""
    heard = by_the_system(times)
    times.pass_by(100)
    times.look = times.wall
    times.wall += 3600
    times.pass_by(2)
    times.look = times.wall  # Spark has looked since
    assert times.heard(heard) == 0
    times.pass_by(7)
    times.look = times.wall
    assert times.heard(heard) == 7


def test_clocks_that_drift_apart_a_little_start_nothing_anew(times):
    heard = by_the_system(times)
    for _ in range(9):
        times.pass_by(10)
        times.wall += 0.1
        times.look = times.wall
    assert times.heard(heard) == pytest.approx(90.9)


def test_a_look_from_before_the_clock_was_set_back_says_nothing(times):
    heard = by_the_system(times)
    times.pass_by(100)
    times.look = times.wall
    times.wall -= 3600
    heard.begin()
    times.pass_by(1)
    assert times.heard(heard) == 0
    times.pass_by(4)
    times.look = times.wall
    assert times.heard(heard) == 5


def test_by_another_clock_spark_is_taken_to_have_looked_a_trigger_ago(times):
    heard = Listening(lambda: times.wall, 1.0, None)
    times.wall += 100  # a clock of the user's own may go as it likes
    assert times.heard(heard) == 99


def test_when_nobody_reads_any_more_silence_goes_on_with_the_clock(times):
    heard = by_the_system(times)
    times.pass_by(100)
    times.look = times.wall
    times.pass_by(100)
    heard.end()
    assert times.heard(heard) == 199
