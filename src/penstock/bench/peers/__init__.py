"""The loaders that race, one file each. A peer's library is imported in the peer's own process only.

A peer says how its library is best used for the case, and nothing else: no timing, no checking. To add one, write its
file and name it in PEERS; its environment is described in `penstock.bench.environments`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from penstock.bench.case import Case

__all__ = ["PEERS", "Peer", "kind", "load"]

PEERS = {
    "penstock": "penstock_packed",
    "penstock-folder": "penstock_folder",
    "penstock-window": "penstock_window",
    "penstock-folder-window": "penstock_folder_window",
    "penstock-raw": "penstock_raw",
    "native": "native_batch",
    "turbo": "turbo",
    "synthetic": "synthetic",
    "pytorch": "pytorch_pillow",
    "torchvision": "torchvision_folder",
    "lmdb": "lmdb_random",
    "lmdb-sequential": "lmdb_sequential",
    "gulpio2": "gulpio2_images",
    "webdataset": "webdataset_tars",
    "streaming": "streaming_mds",
    "litdata": "litdata_chunks",
    "ffcv": "ffcv_jpg",
    "ffcv-raw": "ffcv_raw",
    "dali": "dali_cpu",
    "dali-gpu": "dali_gpu",
    "spdl": "spdl_folder",
    "tfdata": "tfdata_records",
    "grain": "grain_folder",
    "datasets": "hf_datasets",
    "concurrent": "concurrent_objects",
}
BOUNDS = {"native", "turbo", "synthetic"}  # no loaders, but limits that loaders can approach


class Peer(Protocol):
    """What a peer's module has.

    Besides, it may have:

    - MODULES: names to import before anything is timed; one that is not there is the reason for a refusal
    - refuses(case): the reason why this cannot be done here, or None
    - DELIVERS = "ids": it makes no images, and its pixels are not looked at
    """

    LABEL: str  # as shown to people
    SETTINGS: str  # how the library is set up, in one line, for the reader of the result
    DISTRIBUTIONS: tuple[str, ...]  # whose versions belong to the result

    def prepare(self, case: Case) -> tuple[Path | None, bool]:
        """Make the peer's form of the data unless it is there: (where it is, or None; whether it was made now)."""
        ...

    def epochs(self, case: Case) -> Iterable[Iterable[tuple[Any, Any]]]:
        """Give epoch after epoch without end, each an iterable of (uint8 images, sample ids); close() ends it."""
        ...


def kind(name: str) -> str:
    """Tell what a peer is: "ours", "bound", or "other"."""
    return "ours" if name.startswith("penstock") else "bound" if name in BOUNDS else "other"


def load(name: str) -> Peer:
    """Import one peer."""
    if name not in PEERS:
        raise UsageError("no such peer", got=name, expected=f"one of {', '.join(PEERS)}")
    return cast("Peer", import_module(f"penstock.bench.peers.{PEERS[name]}"))
