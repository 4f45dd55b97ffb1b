"""Ctrl-C is noticed at any moment, also at the worst."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from windrow.cli.signals import stop_signals

WAIT = """
import sys
from windrow.cli.signals import stop_signals

def interrupted(frame, event, argument):
    # After every line and every call of what waiting is made of: a signal, once at each place.
    places.add((frame.f_code.co_name, frame.f_lineno, event))
    if len(places) > int(sys.argv[1]) and not sent:
        sent.append(True)
        sys.settrace(None)
        import os, signal
        os.kill(os.getpid(), signal.SIGINT)
    return interrupted

places, sent = set(), []
with stop_signals() as stopped:
    sys.settrace(interrupted)
    stopped.wait(0.01)
    sys.settrace(None)
    print("stopped" if not sent or stopped.wait(60) else "missed")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_and_a_second_one_interrupts(number):
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with stop_signals() as stopped:
        assert not stopped.wait(0)
        os.kill(os.getpid(), number)
        assert stopped.wait(60)
        assert stopped.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


@pytest.mark.parametrize("place", range(8))
def test_a_signal_in_the_middle_of_waiting_is_not_waited_for_by_itself(place):
    """An event of threading's would hang here: its lock is held while somebody begins to wait."""
    done = subprocess.run(
        [sys.executable, "-c", WAIT, str(place)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "stopped\n", done.stderr
