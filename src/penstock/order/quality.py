"""How good an order is: numbers that say what a shuffle lacks of a uniform one.

    displacement   how far samples come from where they are stored: whether an epoch begins where the dataset does
    same_block     how often two samples of a batch are stored neighbours: whether the same ones always meet
    class_run      how long runs of one class are: whether a dataset sorted by class still comes sorted
    classes_seen   how many classes a batch has: whether batches are alike

Each is a mean over an epoch as one rank sees it, batch by batch, next to what a uniform shuffle would give:

    excerpt = Excerpt.of(order, batch_size=256, world_size=8)
    excerpt.quality(block=40, classes=classes)
    uniform_quality(len(order), block=40, classes=classes, batch_size=256, world_size=8)

What all ranks together see is what one rank would with a batch as large as all of theirs.

Adjacent are the samples of one batch, each to each, not only those that follow one another. Why: an optimiser takes the
mean over a batch and does not know the order inside it. And a window order deals from its lanes in turn: two samples
that follow one another never come from the same lane, hence hardly ever from the same block, however small windows are.

How: an order of a billion samples is not counted out. An excerpt is some whole batches, chosen by a fixed key, so that
the same order always has the same numbers. All batches are taken where they are few: then the numbers are exact. (In
place of a short last batch stand a rank's last samples, as many as make a whole one: all batches are of one size.) A
run of a class may be longer than an excerpt can show; then samples further and further apart are compared, until some
of them differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from penstock.errors import UsageError
from penstock.order.mix import mix_key
from penstock.order.permutation import Permutation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from penstock.order.share import Order

__all__ = ["Classes", "Excerpt", "Quality", "uniform_quality"]

SAMPLES = 2**14  # of an excerpt: a window order needs up to a fifth of a millisecond for each
CHANGES = 100  # from one class to another: fewer in an excerpt are no measure of how long runs are
PLACES = 2**11  # evenly spread over the epoch, where the batches of an excerpt are too few or too short
BATCHES = 32  # fewer lie in too few places
ENOUGH = 1 / 8  # of them differ: often enough to be counted, too seldom for two changes to lie between


@final
@dataclass(frozen=True, slots=True)
class Quality:
    """What an order is worth. All of it says little by itself; compare it with a uniform shuffle's."""

    displacement: float
    """Mean distance between a sample's place in the order and in storage, by the dataset's length. Uniform: 1/3; high
    and low both mean that something of the order of storage is left: 0 all of it, 1/2 all of it from back to front."""

    same_block: float
    """How likely two samples of a batch come from the same block of stored neighbours. Low is good: high means that
    samples that are stored together are trained on together, epoch after epoch. A small batch may have no such pair."""

    class_run: float
    """Mean number of samples of one class in a row. One or little more is good: high means that the network sees a
    class for a while, and then not again."""

    classes_seen: float
    """Mean number of classes in a batch. High is good: low means that batches differ more than chance makes them, and
    that their gradients, and what batch normalisation takes from them, do too."""


@final
@dataclass(frozen=True, slots=True)
class Classes:
    """Which class each sample has, and how many samples each class."""

    of: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    counts: NDArray[np.int64]

    @classmethod
    def sorted(cls, samples: int, count: int) -> Classes:
        """Make classes of equal size that are stored one after another: the hardest case for a shuffle."""
        firsts = -(-np.arange(count + 1) * samples // count)
        return cls(lambda ids: ids * count // samples, np.diff(firsts))

    @classmethod
    def labelled(cls, labels: NDArray[np.integer]) -> Classes:
        """Take the classes that samples have."""
        _, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
        return cls(lambda ids: numbers[ids], counts)


@final
@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some batches of an order, as ranks see them: a row each, and in a last column what comes after the batch."""

    order: Order
    world_size: int
    positions: NDArray[np.int64]
    ids: NDArray[np.int64]
    is_new: NDArray[np.bool_]  # not in the batch before, too
    is_whole: bool  # nothing is left out

    @classmethod
    def of(cls, order: Order, *, batch_size: int, world_size: int = 1, samples: int = SAMPLES) -> Excerpt:
        """Look at about so many samples of an order, of at least one batch."""
        n, size = len(order), _batch(len(order), batch_size, world_size)
        step = size * world_size
        count = -(-n // step) * world_size
        taken = min(count, max(samples // size, 1))
        # One at random from each of so many equal parts of the epoch: its beginning and end are seen as they should be.
        chosen = (np.arange(taken) * count + Permutation(count, mix_key(n, step))[:taken]) // taken
        batch, rank = np.divmod(chosen, world_size)
        begin = np.minimum(batch * step, (n - step) // world_size * world_size) + rank
        positions = begin[:, None] + np.arange(size + 1) * world_size
        ids = order.at(np.minimum(positions, n - 1).reshape(-1)).reshape(positions.shape)
        return cls(order, world_size, positions, ids, positions >= (batch * step)[:, None], taken == count)

    def quality(self, *, block: int, classes: Classes) -> Quality:
        """Tell what the order is worth, over blocks of so many stored neighbours and over these classes."""
        ids = self.ids[:, :-1]
        together = _group_sizes(ids // block)
        pairs = ids.size * (ids.shape[1] - 1)
        return Quality(
            displacement=self._displacement(),
            same_block=int((together * (together - 1)).sum()) / max(pairs, 1),
            class_run=_run(len(self.order) / self.world_size, self._changes(classes)),
            classes_seen=len(_group_sizes(classes.of(ids))) / len(ids),
        )

    def _displacement(self) -> float:
        """Measure how far samples are from where they are stored, by the order's length."""
        n = len(self.order)
        positions, ids = (every[:, :-1][self.is_new[:, :-1]] for every in (self.positions, self.ids))
        if not self.is_whole and len(self.ids) < BATCHES:
            positions = np.arange(PLACES) * n // PLACES
            ids = self.order.at(positions)
        return float(np.abs(ids - positions).mean()) / n

    def _changes(self, classes: Classes) -> float:
        """Estimate how often a sample is of another class than the one before it on the same rank."""
        n, found = len(self.order), classes.of(self.ids)
        has_next = self.is_new[:, :-1] & (self.positions[:, 1:] < n)
        changes, pairs = int((found[:, 1:] != found[:, :-1])[has_next].sum()), int(has_next.sum())
        if self.is_whole or changes >= CHANGES:
            return changes / max(pairs, 1)
        share, distance = 0.0, self.world_size
        while share < ENOUGH and 4 * distance < n:
            distance *= 2
            first = np.arange(PLACES) * (n - distance) // PLACES
            one, other = (classes.of(self.order.at(at)) for at in (first, first + distance))
            share = float((one != other).mean())
        return share * self.world_size / distance


def uniform_quality(n: int, *, block: int, classes: Classes, batch_size: int, world_size: int = 1) -> Quality:
    """Tell what a uniform shuffle of `n` samples would be worth, on average over all of them."""
    size = _batch(n, batch_size, world_size)
    blocks, rest = divmod(n, block)
    pairs = max(n * (n - 1), 1)
    same_class = int((classes.counts * (classes.counts - 1)).sum()) / pairs
    sizes, times = np.unique(classes.counts, return_counts=True)
    missed = sum(time * _missed(n, each, size) for each, time in zip(sizes.tolist(), times.tolist(), strict=True))
    return Quality(
        displacement=(1 - 1 / n**2) / 3,
        same_block=(blocks * block * (block - 1) + rest * (rest - 1)) / pairs if size > 1 else 0.0,
        class_run=_run(n / world_size, 1 - same_class if n > 1 else 0.0),
        classes_seen=len(classes.counts) - missed,
    )


def _batch(n: int, batch_size: int, world_size: int) -> int:
    """Give the size of a batch that every rank can have."""
    if not 0 < world_size <= n:
        raise UsageError("each rank has at least one sample", got=f"{n} samples for {world_size} ranks")
    return min(batch_size, n // world_size)


def _run(samples: float, changes: float) -> float:
    """Give the mean length of runs in a row of samples."""
    return samples / (1 + (samples - 1) * changes)


def _missed(n: int, members: int, drawn: int) -> float:
    """Give the probability that none of a class is among samples drawn from n without putting them back."""
    if drawn > n - members:
        return 0.0
    few, many = sorted((members, drawn))  # the probability is the same with the two exchanged
    return float(np.exp(np.log1p(-many / (n - np.arange(few))).sum()))


def _group_sizes(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count how often each value comes in each row."""
    ordered = np.sort(rows, axis=1)
    is_first = np.ones(rows.shape, np.bool_)
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return np.diff(np.append(np.flatnonzero(is_first), rows.size))
