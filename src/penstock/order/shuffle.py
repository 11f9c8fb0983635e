"""The ways to shuffle: settings that, with a dataset's extent, a seed and an epoch, make an order.

    FullShuffle()        uniform, for fast media
    WindowShuffle()      blocks and windows, for media that dislike seeking; its settings are in bytes, since that is
                         what media and memory are counted in
    InStorageOrder()     no shuffle
    WeightedSampling()   samples drawn with given probabilities
    Mixture()            several datasets in given ratios

`settings` is what the order depends on beside seed and epoch, as JSON's values: two runs with the same settings over
the same dataset go through the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, final

from penstock.errors import UsageError
from penstock.order.mix import mix_key
from penstock.order.permutation import Permutation
from penstock.order.sequential import Sequential
from penstock.order.window import WindowOrder

if TYPE_CHECKING:
    from penstock.order.share import Order

__all__ = ["Extent", "FullShuffle", "InStorageOrder", "Shuffle", "WindowShuffle", "shuffle_of"]

LANES = 16
WINDOW_BYTES = 256 * 2**20
BLOCK_BYTES = 4 * 2**20
WINDOWED = 1  # sets the keys of windows apart from those of full shuffles


@final
@dataclass(frozen=True, slots=True)
class Extent:
    """How large a dataset is."""

    samples: int
    bytes: int = 0
    parts: tuple[int, ...] = ()  # the samples of each dataset that it is joined of

    @property
    def sample_bytes(self) -> float:
        """What a sample takes on average, at least one byte."""
        return max(self.bytes / self.samples, 1.0) if self.samples else 1.0


class Shuffle(Protocol):
    """A way to shuffle."""

    def order(self, extent: Extent, seed: int, epoch: int) -> Order:
        """Make the order of an epoch."""

    def settings(self, extent: Extent) -> dict[str, Any]:
        """Say what the order depends on."""


@final
@dataclass(frozen=True, slots=True)
class FullShuffle:
    """Every order of the samples equally likely, whatever the seeking costs."""

    def order(self, extent: Extent, seed: int, epoch: int) -> Permutation:
        """Make the order of an epoch."""
        return Permutation(extent.samples, mix_key(seed, epoch))

    def settings(self, extent: Extent) -> dict[str, Any]:
        """Say what the order depends on."""
        return {"shuffle": "full", "samples": extent.samples}


@final
@dataclass(frozen=True, slots=True)
class InStorageOrder:
    """No shuffle: for validation, and for reading a disk from one end to the other."""

    def order(self, extent: Extent, seed: int, epoch: int) -> Sequential:  # noqa: ARG002  the same for all
        """Make the order of an epoch."""
        return Sequential(extent.samples)

    def settings(self, extent: Extent) -> dict[str, Any]:
        """Say what the order depends on."""
        return {"shuffle": False, "samples": extent.samples}


@final
@dataclass(frozen=True, slots=True)
class WindowShuffle:
    """Blocks of `block_bytes` in random order, samples mixed in windows of `window_bytes` over all lanes together.

    `lanes` decides which numbers of ranks can train together: those that divide it. Larger windows mix better and take
    more memory; larger blocks suit slower seeking; `penstock info --order window` tells what a setting is worth.
    """

    lanes: int = LANES
    window_bytes: int = WINDOW_BYTES
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        for name in ("lanes", "window_bytes", "block_bytes"):
            if getattr(self, name) < 1:
                raise UsageError(f"WindowShuffle: {name} is at least 1", got=getattr(self, name))

    def order(self, extent: Extent, seed: int, epoch: int) -> WindowOrder:
        """Make the order of an epoch."""
        window, block = self._samples(extent)
        key = mix_key(seed, epoch, WINDOWED)
        return WindowOrder(extent.samples, key, lanes=self.lanes, window=window, block=block)

    def settings(self, extent: Extent) -> dict[str, Any]:
        """Say what the order depends on."""
        window, block = self._samples(extent)
        shape = {"lanes": self.lanes, "window": window, "block": block}
        return {"shuffle": "window", "samples": extent.samples, **shape}

    def _samples(self, extent: Extent) -> tuple[int, int]:
        """Count the samples of a lane's window and of a block. No window needs to be larger than what a lane has."""
        window = round(self.window_bytes / self.lanes / extent.sample_bytes)
        block = round(self.block_bytes / extent.sample_bytes)
        lane = -(-extent.samples // self.lanes)
        return max(min(window, lane), 1), max(min(block, extent.samples), 1)


NAMED: dict[str | bool, Shuffle] = {"full": FullShuffle(), "window": WindowShuffle(), False: InStorageOrder()}


def shuffle_of(given: Shuffle | Literal["full", "window", False]) -> Shuffle:
    """Take a way to shuffle, or the name of one."""
    if isinstance(given, (str, bool)) and given in NAMED:
        return NAMED[given]
    if isinstance(given, (str, bool)) or not hasattr(given, "order") or not hasattr(given, "settings"):
        expected = "'full', 'window', False, or an object such as WindowShuffle(lanes=32)"
        raise UsageError("shuffle", got=repr(given), expected=expected)
    return given
