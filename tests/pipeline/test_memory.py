"""The memory of batches: arrays that are used again, and depths that follow from the budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.pipeline.memory import BatchMemory


def memory(*, dtype: str = "uint8", budget: int | None = None, batch_size: int = 4, **options: Any) -> BatchMemory:
    return BatchMemory(
        batch_size,
        shapes={"image": (3, 8, 8)},
        dtypes={"image": np.dtype(dtype)},
        calls=2,
        budget=budget,
        **{"encoded_bytes": 100, "later": None, **options},
    )


def address(array):
    return array.__array_interface__["data"][0]


def test_pixels_that_are_dropped_are_used_again():
    stock = memory()
    first = address(stock.pixels("image", 4))
    assert address(stock.pixels("image", 3)) == first


def test_pixels_that_are_kept_are_left_alone():
    stock = memory()
    kept = stock.pixels("image", 4)
    kept[:] = 7
    stock.pixels("image", 4)[:] = 9
    assert (kept == 7).all()


def test_uint8_pixels_are_the_result_and_others_are_only_passing_through():
    plain, changing = memory(), memory(dtype="float32")
    assert plain.values("image", 4).dtype == np.uint8
    assert changing.pixels("image", 4).dtype == np.uint8
    assert changing.values("image", 4).dtype == np.float32
    assert changing.values("image", 4).shape == (4, 3, 8, 8)


def test_results_that_may_still_be_read_are_left_to_their_allocator():
    made = []

    def allocate(size_bytes):
        made.append(np.zeros(size_bytes, np.uint8))
        return made[-1]

    stock = memory(allocate=allocate, recycles=False)
    assert len({address(stock.pixels("image", 4)) for _ in range(10)}) == len(made) == 10


def test_more_samples_than_a_batch_get_memory_of_their_own():
    stock = memory(batch_size=2)
    assert stock.pixels("image", 5).shape == (5, 3, 8, 8)


def test_blocks_come_back():
    stock = memory()
    block = stock.block(70)
    assert len(block) == 100
    stock.take_back(block)
    assert stock.block(100) is block


def test_an_unusual_batch_has_a_larger_block():
    stock = memory()
    stock.take_back(stock.block(70))
    assert len(stock.block(150)) == 150


def test_an_arena_counts_once_whatever_the_depth():
    least = 10_000 + (1 + 2 + 2) * 4 * 3 * 8 * 8
    assert memory(encoded_bytes=0, arena_bytes=10_000, budget=least).depth == 1
    with pytest.raises(UsageError, match="windows, which take 10,000 bytes"):
        memory(encoded_bytes=0, arena_bytes=10_000, budget=least - 1)


@pytest.mark.parametrize(
    ("dtype", "later", "batches"),
    [
        ("uint8", None, 1 + 2 + 2),  # waiting, in decoding calls, with the consumer
        ("float32", None, 4 * (1 + 2 + 2) + 2),  # and the pixels in each decoding call
        ("uint8", {"image": "uint8"}, 1 + 2 + 1 + 4),  # one being changed; one done, one waiting, two with the consumer
        ("uint8", {"image": "float32"}, 1 + 2 + 1 + 4 * 4),
        ("uint8", {"image": "bfloat16"}, 1 + 2 + 1 + 4 * 2 + 4),  # by way of float32
        ("uint8", {}, 1 + 2 + 1),  # the rest is on a GPU
    ],
)
def test_whatever_is_in_flight_is_counted_in_the_type_that_it_has(dtype, later, batches):
    least = 4 * 100 + batches * 4 * 3 * 8 * 8
    assert memory(dtype=dtype, later=later, budget=least).depth == 1
    with pytest.raises(UsageError, match=f"at least {least:,}"):
        memory(dtype=dtype, later=later, budget=least - 1)


def test_a_budget_gives_a_depth_and_too_small_a_one_is_refused():
    assert memory(budget=10**6).depth > memory(budget=8_000).depth >= 1
    with pytest.raises(UsageError, match="too small"):
        memory(budget=100)
