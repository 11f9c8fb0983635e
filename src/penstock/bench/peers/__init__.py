"""The loaders that race, one file each. A peer's library is imported in the peer's own process only.

A peer says how its library is best used for the case, and nothing else: no timing, no checking. To add one, write its
file and name it in PEERS.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from penstock.bench.case import Case

__all__ = ["PEERS", "Peer", "load"]

PEERS = {
    "penstock": "penstock_packed",
    "penstock-folder": "penstock_folder",
    "penstock-window": "penstock_window",
    "penstock-folder-window": "penstock_folder_window",
    "penstock-raw": "penstock_raw",
    "native": "native_batch",
    "turbo": "turbo",
    "pytorch": "pytorch_pillow",
    "torchvision": "torchvision_folder",
    "ffcv": "ffcv_jpg",
    "ffcv-raw": "ffcv_raw",
    "dali": "dali_cpu",
}


class Peer(Protocol):
    """What a peer's module has."""

    LABEL: str  # as shown to people
    SETTINGS: str  # how the library is set up, in one line, for the reader of the result
    DISTRIBUTIONS: tuple[str, ...]  # whose versions belong to the result

    def prepare(self, case: Case) -> tuple[Path | None, bool]:
        """Make the peer's form of the data unless it is there: (where it is, or None; whether it was made now)."""
        ...

    def epochs(self, case: Case) -> Iterable[Iterable[tuple[Any, Any]]]:
        """Give epoch after epoch without end, each an iterable of (uint8 images, sample ids); close() ends it."""
        ...


def load(name: str) -> Peer:
    """Import one peer."""
    if name not in PEERS:
        raise UsageError("no such peer", got=name, expected=f"one of {', '.join(PEERS)}")
    return cast("Peer", import_module(f"penstock.bench.peers.{PEERS[name]}"))
