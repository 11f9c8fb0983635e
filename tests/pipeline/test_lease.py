"""Lent memory comes back when its last user is gone, and never before."""

import gc
import threading

import numpy as np
import pytest
import torch

from penstock.pipeline import Reservoir


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_comes_back_when_the_array_is_dropped():
    reservoir = Reservoir(1000, spare=2)
    array = reservoir.array((10, 10))
    where = address(array)
    assert reservoir.free_blocks == 0
    del array
    assert reservoir.free_blocks == 1
    assert address(reservoir.array((5,))) == where


@pytest.mark.parametrize(
    "keep",
    [
        lambda array: array[3:4],
        lambda array: array.reshape(-1)[::2],
        lambda array: array.view(np.int8).T,
        memoryview,
        torch.from_numpy,
        lambda array: torch.from_numpy(array)[1],
    ],
)
def test_anything_made_from_the_array_keeps_its_memory(keep):
    reservoir = Reservoir(100, spare=2)
    array = reservoir.array((10, 10))
    array[:] = 7
    kept = keep(array)
    del array
    gc.collect()
    assert reservoir.free_blocks == 0
    reservoir.array((100,))[:] = 9
    assert np.all(np.asarray(kept) == 7)
    del kept
    assert reservoir.free_blocks == 2


def test_kept_arrays_never_share_memory():
    reservoir = Reservoir(64, spare=2)
    arrays = [reservoir.array((8,), np.float64) for _ in range(20)]
    for number, array in enumerate(arrays):
        array[:] = number
    assert all(np.all(array == number) for number, array in enumerate(arrays))


def test_no_more_than_the_spare_blocks_are_kept():
    reservoir = Reservoir(64, spare=3)
    arrays = [reservoir.array((64,)) for _ in range(10)]
    del arrays
    assert reservoir.free_blocks == 3


def test_memory_may_come_back_in_any_thread():
    reservoir = Reservoir(64, spare=3)
    held = [reservoir.array((64,))]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert reservoir.free_blocks == 1


def test_an_array_outlives_its_reservoir():
    reservoir = Reservoir(64, spare=1)
    array = reservoir.array((64,))
    del reservoir
    gc.collect()
    array[:] = 1
    assert array.sum() == 64


def test_an_array_larger_than_the_blocks_is_refused():
    with pytest.raises(ValueError, match="64 bytes"):
        Reservoir(64, spare=1).array((65,))


def test_without_spare_blocks_the_reservoir_never_hands_out_a_block_again():
    """A copy of a dropped array may still be under way; only the allocator knows."""
    made = []

    def allocate(size_bytes):
        made.append(np.zeros(size_bytes, np.uint8))
        return made[-1]

    reservoir = Reservoir(64, spare=0, allocate=allocate)
    places = {address(reservoir.array((4, 4), np.float32)) for _ in range(20)}
    assert places == {address(block) for block in made}
    assert len(places) == 20


def test_the_memory_may_come_from_elsewhere():
    made = []

    def allocate(size_bytes):
        made.append(np.zeros(size_bytes, np.uint8))
        return made[-1]

    array = Reservoir(16, spare=1, allocate=allocate).array((16,))
    assert address(array) == address(made[0])
