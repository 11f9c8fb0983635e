"""How many threads there are, native ones included; and which of them a Ctrl-C reaches."""

import os
import signal
import threading
import time
from pathlib import Path


def tasks():
    """Threads of this process, native ones included."""
    folder = Path("/proc/self/task")
    return len(list(folder.iterdir())) if folder.is_dir() else threading.active_count()


def settles_at(count):
    """Whether no more than so many threads are left. One that was joined may stay on the kernel's list for a moment."""
    deadline = time.monotonic() + 10
    while tasks() > count and time.monotonic() < deadline:
        os.sched_yield()
    return tasks() <= count


def interrupted_elsewhere(is_waiting):
    """Have another thread take a Ctrl-C once the main thread waits, whose wait it does not interrupt."""

    def interrupt():
        while not is_waiting():
            os.sched_yield()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    return thread
