"""How many threads there are, native ones included."""

import os
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
