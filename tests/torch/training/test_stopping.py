"""Stopping: signals are noted, a second Ctrl-C gets through, time runs out, handlers are put back."""

import os
import signal
import threading

import pytest

from penstock.torch.training import Stopping


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_wish_and_no_more(number):
    with Stopping() as stopping:
        assert not stopping.agreed()
        os.kill(os.getpid(), number)
        assert stopping.agreed()
    assert stopping.reason == signal.Signals(number).name


def test_a_second_ctrl_c_is_not_held_back():
    with Stopping():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_the_end_of_the_time_is_a_wish_too():
    now = [100.0]
    with Stopping(60, clock=lambda: now[0]) as stopping:
        now[0] = 159.9
        assert not stopping.agreed()
        now[0] = 160.0
        assert stopping.agreed()
    assert stopping.reason == "the end of the time"


def test_afterwards_signals_mean_what_they_meant():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with Stopping():
        assert signal.getsignal(signal.SIGTERM) != before[0]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_in_another_thread_it_notes_no_signals_but_time():
    found = []

    def run() -> None:
        with Stopping(0) as stopping:
            found.append(stopping.agreed())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert found == [True]
