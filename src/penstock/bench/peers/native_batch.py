"""The ceiling of penstock's own loader: the bare native decode_batch, with nothing around it.

The packed bytes lie in one block of memory and every crop is known before the clock starts; then batches are handed to
the pool, two at a time so that no core waits at a batch's end, into output arrays that are used again and again. What
the loader adds to this (order, reading, checksums, augmentation draws, handing over) is its overhead, and the ratio of
the two is a number to keep near 1.

This is the one place besides the rooms' own doors that touches the native module: a loader in between is just what
must not be measured here.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _native
from penstock.bench.peers import penstock_packed
from penstock.opening import open_dataset
from penstock.order.draws import Draws
from penstock.order.mix import mix_key
from penstock.order.permutation import Permutation
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop
from penstock.transforms.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "penstock's decode_batch alone"
SETTINGS = "packed bytes in memory, crops drawn beforehand, two batches in flight, outputs reused, no checksums"
DISTRIBUTIONS = ("penstock",)
IN_FLIGHT = 2


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Pack the folder."""
    return penstock_packed.prepare(case)


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs of the same samples and crops as the loader's."""
    dataset = open_dataset(case.form("pen"))
    column = dataset.column("image")
    count, places = len(column), penstock_packed.places(case, case.form("pen"))
    block = dataset.read(np.arange(count), "image")
    plan = Plan([RandomResizedCrop(case.size), RandomHorizontalFlip()])
    shape = (case.batch_size, 3, case.size, case.size)
    with closing(_native.Pool(case.workers)) as pool, ThreadPoolExecutor(IN_FLIGHT) as callers:
        outputs = deque(np.empty(shape, np.uint8) for _ in range(IN_FLIGHT + 1))

        def decode(ids: Any, geometry: Any, out: Any) -> tuple[Any, Any]:
            failures = pool.decode_batch(
                block.data,
                block.offsets[ids],
                block.lengths[ids],
                np.full(len(ids), _native.JPEG, np.uint8),
                np.stack([column.width[ids], column.height[ids]], axis=1),
                geometry.regions,
                geometry.clips,
                geometry.flips,
                out[: len(ids)],
            )
            if failures:
                raise RuntimeError(f"{len(failures)} images failed, the first with: {failures[0]}")
            return out[: len(ids)], places[ids]

        def epoch(batches: list[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
            waiting: deque[Any] = deque()
            for ids, geometry in batches:
                waiting.append((out := outputs.popleft(), callers.submit(decode, ids, geometry, out)))
                if len(waiting) > IN_FLIGHT - 1 + len(outputs):
                    yield from first(waiting)
            while waiting:
                yield from first(waiting)

        def first(waiting: deque[Any]) -> Iterator[tuple[Any, Any]]:
            out, future = waiting.popleft()
            yield future.result()
            outputs.append(out)

        number = 0
        while True:
            order = Permutation(count, mix_key(case.seed, number))[0:count]
            pieces = [order[start : start + case.batch_size] for start in range(0, count, case.batch_size)]
            draws = [Draws.of(case.seed, number, ids) for ids in pieces]
            frames = [(column.width[ids], column.height[ids]) for ids in pieces]
            geometries = [plan.geometry(*frame, drawn) for frame, drawn in zip(frames, draws, strict=True)]
            yield epoch(list(zip(pieces, geometries, strict=True)))
            number += 1
