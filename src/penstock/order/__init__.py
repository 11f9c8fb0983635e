"""Which sample comes next: pure functions of seed, epoch and the dataset's extent. No I/O, no threads, no clock."""

from penstock.order.draws import Draws
from penstock.order.permutation import Permutation
from penstock.order.sequential import Sequential
from penstock.order.shuffle import (
    Extent,
    FullShuffle,
    InStorageOrder,
    Mixture,
    Shuffle,
    WeightedSampling,
    WindowShuffle,
)
from penstock.order.window import WindowOrder

__all__ = [
    "Draws",
    "Extent",
    "FullShuffle",
    "InStorageOrder",
    "Mixture",
    "Permutation",
    "Sequential",
    "Shuffle",
    "WeightedSampling",
    "WindowOrder",
    "WindowShuffle",
]
