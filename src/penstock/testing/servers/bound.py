"""Become a command that ends when its parent does; run as a file, by path.

    python bound.py PARENT COMMAND [ARGUMENT…]

A `with` block ends its server, but not when the process around it is killed. Linux tells a process of its parent's end
by a signal of its choice, and the choice outlives exec: so this file chooses SIGTERM, at which every one of our servers
cleans up and ends, and becomes the server. That needs no watching process and no code between fork and exec, and the
server has the process id that its parent knows.

The signal comes at the end of the *thread* that started the process: start servers in a thread that outlives them.
Elsewhere than on Linux there is no such signal; there only the `with` block ends a server.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["end_with_parent"]

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def end_with_parent(parent: int) -> None:
    """Have this process receive SIGTERM when `parent`, its parent, ends; leave at once when that has happened."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it ended before the signal was asked for
        raise SystemExit(1)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 no shell is wanted
