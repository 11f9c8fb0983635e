"""Ports of loopback that are free.

Asking the kernel for any free port gives one out of the range from which it also takes the near ends of outgoing
connections. A benchmark opens thousands of those, and one of them may sit on the port before the server does. So ports
are drawn at random below that range, and tried.
"""

from __future__ import annotations

import secrets
import socket

from penstock.errors import StorageError

__all__ = ["HOST", "free_ports"]

HOST = "127.0.0.1"
LOWEST, HIGHEST = 12_000, 22_000  # with the offset still below 32768, where outgoing connections begin on Linux
TRIES = 1_000


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_ports(count: int, *, also_offset: int = 0) -> list[int]:
    """Find `count` different free ports, each of them free at `also_offset` above itself, too."""
    found: list[int] = []
    for _ in range(TRIES):
        port = LOWEST + secrets.randbelow(HIGHEST - LOWEST)
        if port not in found and _is_free(port) and _is_free(port + also_offset):
            found.append(port)
        if len(found) == count:
            return found
    raise StorageError(f"free ports of {HOST}", got=f"{len(found)} after {TRIES} tries", expected=count)
