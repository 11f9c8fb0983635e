"""The ceiling of everything: batches that are there already. What is measured is taking and checking them.

A few batches of noise are made beforehand and delivered again and again under the ids of a shuffled epoch. A consumer
that is no faster with these than with a real loader does not wait for data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "batches in memory"
SETTINGS = "4 batches of noise, made beforehand, again and again"
DISTRIBUTIONS = ("numpy",)
DELIVERS = "ids"
RESIDENT = 4


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Read nothing."""
    del case
    return None, False


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs of ids beside the same few batches."""
    random = np.random.default_rng(case.seed)
    shape = (case.batch_size, 3, case.size, case.size)
    batches = [random.integers(0, 256, shape, np.uint8) for _ in range(RESIDENT)]
    count = len(case.files())
    while True:
        order = random.permutation(count)
        pieces = [order[start : start + case.batch_size] for start in range(0, count, case.batch_size)]
        yield ((batches[number % RESIDENT][: len(ids)], ids) for number, ids in enumerate(pieces))
