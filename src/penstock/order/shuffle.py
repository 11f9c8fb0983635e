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

import hashlib
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from operator import index
from typing import TYPE_CHECKING, Any, Literal, Protocol, final

import numpy as np

from penstock.errors import UsageError
from penstock.order.mix import mix_key
from penstock.order.mixture import MixtureOrder, Part, quotas
from penstock.order.permutation import Permutation
from penstock.order.sequential import Sequential
from penstock.order.weighted import WeightedOrder
from penstock.order.window import WindowOrder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from penstock.order.share import Order

__all__ = [
    "Extent",
    "FullShuffle",
    "InStorageOrder",
    "Mixture",
    "Shuffle",
    "WeightedSampling",
    "WindowShuffle",
    "shuffle_of",
]

LANES = 16
WINDOW_BYTES = 256 * 2**20
BLOCK_BYTES = 4 * 2**20
WINDOWED, WEIGHTED, MIXED = 1, 2, 3  # set the keys of these apart from those of full shuffles


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
            object.__setattr__(self, name, _count(getattr(self, name), what=f"WindowShuffle: {name}"))

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


@final
class WeightedSampling:
    """Samples drawn with given probabilities: `samples` draws per epoch, by default as many as there are weights.

    Draws are independent: a sample may come several times in an epoch, each time with a crop of its own, or not at all.
    """

    def __init__(self, weights: Sequence[float] | NDArray[Any], *, samples: int | None = None) -> None:
        expected = "a number per sample, none negative, not all zero"
        try:
            given = np.asarray(weights, np.float64)
        except (TypeError, ValueError) as error:
            raise UsageError("WeightedSampling: weights", got=error, expected=expected) from None
        if given.ndim != 1 or not given.size or not np.isfinite(given).all() or given.min() < 0 or not given.any():
            got = f"{given.dtype} of shape {given.shape}"
            raise UsageError("WeightedSampling: weights", got=got, expected=expected)
        self._sums = np.cumsum(given)
        self._digest = hashlib.sha256(given.astype("<f8").tobytes()).hexdigest()[:16]
        self.samples = len(given) if samples is None else _count(samples, what="WeightedSampling: samples")

    def order(self, extent: Extent, seed: int, epoch: int) -> WeightedOrder:
        """Make the order of an epoch."""
        if len(self._sums) != extent.samples:
            raise UsageError("there is one weight per sample", got=len(self._sums), expected=extent.samples)
        return WeightedOrder(self.samples, mix_key(seed, epoch, WEIGHTED), self._sums)

    def settings(self, extent: Extent) -> dict[str, Any]:
        """Say what the order depends on."""
        return {"shuffle": "weighted", "samples": extent.samples, "draws": self.samples, "weights": self._digest}

    def __repr__(self) -> str:
        return f"WeightedSampling({len(self._sums)} weights, samples={self.samples})"


@final
@dataclass(frozen=True, slots=True)
class Mixture:
    """The datasets that a dataset is joined of, in these ratios: `samples` per epoch, by default as many as there are.

    Each part is gone through in one shuffle after another, whatever the epochs: all its samples come equally often.
    """

    ratios: tuple[float, ...]
    samples: int | None = None

    def __post_init__(self) -> None:
        expected = "numbers, none negative, not all zero"
        try:
            object.__setattr__(self, "ratios", tuple(float(ratio) for ratio in self.ratios))
        except (TypeError, ValueError):
            raise UsageError("Mixture: ratios", got=repr(self.ratios), expected=expected) from None
        if not self.ratios or not all(0 <= ratio < inf for ratio in self.ratios) or not any(self.ratios):
            raise UsageError("Mixture: ratios", got=self.ratios, expected=expected)
        if self.samples is not None:
            object.__setattr__(self, "samples", _count(self.samples, what="Mixture: samples"))

    def order(self, extent: Extent, seed: int, epoch: int) -> MixtureOrder:
        """Make the order of an epoch."""
        if len(self.ratios) != len(extent.parts):
            what, hint = "there is one ratio per dataset", "join datasets with penstock.join, and give a ratio for each"
            raise UsageError(what, got=len(self.ratios), expected=len(extent.parts), hint=hint)
        shares = quotas(self.ratios, self.samples or extent.samples)
        firsts = accumulate(extent.parts, initial=0)
        parts = tuple(Part(*of_one) for of_one in zip(firsts, extent.parts, shares, strict=False))
        if empty := [number for number, part in enumerate(parts) if part.quota and not part.samples]:
            raise UsageError("Mixture: a dataset that samples are wanted of has none", got=f"dataset {empty[0]}")
        return MixtureOrder(parts, seed=mix_key(seed, MIXED), epoch=epoch)

    def settings(self, extent: Extent) -> dict[str, Any]:
        """Say what the order depends on."""
        draws = self.samples or extent.samples
        return {"shuffle": "mixture", "parts": list(extent.parts), "ratios": list(self.ratios), "draws": draws}


def _count(given: Any, *, what: str) -> int:
    """Take a whole number of at least one, NumPy's among them."""
    expected = "a whole number, at least 1"
    try:
        number = index(given)
    except TypeError:
        raise UsageError(what, got=repr(given), expected=expected) from None
    if number < 1:
        raise UsageError(what, got=number, expected=expected)
    return number


NAMED: dict[str | bool, Shuffle] = {"full": FullShuffle(), "window": WindowShuffle(), False: InStorageOrder()}


def shuffle_of(given: Shuffle | Literal["full", "window", False]) -> Shuffle:
    """Take a way to shuffle, or the name of one."""
    if isinstance(given, (str, bool)) and given in NAMED:
        return NAMED[given]
    if isinstance(given, (str, bool)) or not hasattr(given, "order") or not hasattr(given, "settings"):
        expected = "'full', 'window', False, or an object such as WindowShuffle(lanes=32)"
        raise UsageError("shuffle", got=repr(given), expected=expected)
    return given
