"""Batches, threads, checksums, statuses, and arguments that cannot be."""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.images import cjpeg, jpeg, photo
from tests.native.calls import SENTINEL, decode, decode_one

from penstock import _native

IMAGES = [cjpeg(photo(97, 61, seed=seed), sampling=mode) for seed, mode in enumerate(["4:2:0", "4:4:4", "4:2:2"] * 8)]
BOX = (5, 3, 90, 58)


@pytest.fixture(scope="module")
def expected():
    boxes = [BOX] * len(IMAGES)
    return decode(IMAGES, regions=boxes, clips=boxes, size=(48, 40)).pixels


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
def test_any_number_of_threads_gives_the_same_pixels(expected, threads):
    pool = _native.Pool(threads)
    assert pool.threads == threads
    boxes = [BOX] * len(IMAGES)
    for _ in range(3):
        assert np.array_equal(decode(IMAGES, pool=pool, regions=boxes, clips=boxes, size=(48, 40)).pixels, expected)
    pool.close()


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_several_threads_may_call_one_pool_at_once(expected, threads):
    pool = _native.Pool(threads)
    boxes = [BOX] * len(IMAGES)
    results = {}

    def work(name):
        for turn in range(5):
            results[name, turn] = decode(IMAGES, pool=pool, regions=boxes, clips=boxes, size=(48, 40)).pixels

    callers = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert len(results) == 20
    assert all(np.array_equal(pixels, expected) for pixels in results.values())
    pool.close()


def test_a_closed_pool_refuses_and_closing_twice_is_fine():
    pool = _native.Pool(2)
    pool.close()
    pool.close()
    with pytest.raises((RuntimeError, ValueError), match="closed"):
        decode(IMAGES, pool=pool)


def test_a_dropped_pool_leaves_no_thread():
    def count():
        status = Path("/proc/self/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("Threads"))

    before = count()
    for _ in range(50):
        pool = _native.Pool(4)
        decode(IMAGES[:2], pool=pool)
        del pool
    gc.collect()
    assert count() < before + 10  # of two hundred; a thread that has ended may still be listed for a moment


def test_threads_cannot_be_negative():
    with pytest.raises((ValueError, TypeError)):
        _native.Pool(-1)


def test_an_empty_batch_is_an_empty_list():
    nothing = _native.Pool(2).decode_batch(
        np.empty(0, np.uint8),
        np.empty(0, np.int64),
        np.empty(0, np.int64),
        np.empty(0, np.uint8),
        np.empty((0, 2), np.int32),
        np.empty((0, 4), np.float64),
        np.empty((0, 4), np.int32),
        np.empty(0, np.uint8),
        np.empty((0, 3, 8, 8), np.uint8),
    )
    assert nothing == []


def test_an_absent_sample_leaves_its_slot_alone():
    pixels = photo(97, 61)
    kinds = [_native.JPEG, _native.ABSENT, _native.PIXELS]
    boxes = [(0, 0, 97, 61)] * 3
    decoded = decode([IMAGES[0], b"not read", pixels], kinds=kinds, sizes=[(97, 61)] * 3, clips=boxes)
    assert decoded.status == {}
    assert (decoded.pixels[1] == SENTINEL).all()
    assert np.array_equal(decoded.pixels[2], pixels)
    assert np.array_equal(decoded.pixels[0], decode_one(IMAGES[0]))


@pytest.mark.parametrize("threads", [0, 2])
def test_a_broken_sample_does_not_touch_its_neighbours(threads):
    whole = [decode_one(image) for image in IMAGES[:4]]
    broken = [b"", b"\xff\xd8\xff\xd9", bytes(100), IMAGES[0][:100], b"\x89PNG"]
    mixed = [IMAGES[0], broken[0], IMAGES[1], *broken[1:], IMAGES[2], IMAGES[3]]
    boxes = [(0, 0, 97, 61)] * len(mixed)
    decoded = decode(mixed, pool=_native.Pool(threads), clips=boxes)
    assert sorted(decoded.status) == [1, 3, 4, 5, 6]
    assert set(decoded.status.values()) == {_native.BROKEN}
    assert all(decoded.messages.values())
    assert all(np.array_equal(decoded.pixels[at], whole[i]) for i, at in enumerate([0, 2, 7, 8]))


def test_kinds_left_to_pillow_are_named():
    from tests.native.test_tile_jpeg import PASSED_THROUGH

    for kind in ("cmyk", "ycck", "12 bits"):
        assert decode([PASSED_THROUGH[kind]], clips=[(0, 0, 40, 30)]).status == {0: _native.UNSUPPORTED}, kind


def test_checksums_are_verified_where_given():
    sums = np.array([_native.crc32c(image) for image in IMAGES], np.uint32)
    assert decode(IMAGES, checksums=sums).status == {}
    sums[3] ^= 1
    decoded = decode(IMAGES, checksums=sums)
    assert decoded.status == {3: _native.CHECKSUM}
    assert f"{sums[3]:08x}" in decoded.messages[3]


def test_checksums_of_pixels_are_verified_too():
    pixels = photo(20, 10)
    right = np.array([_native.crc32c(pixels.tobytes())], np.uint32)
    assert decode([pixels], checksums=right).status == {}
    assert decode([pixels], checksums=right + 1).status == {0: _native.CHECKSUM}


def test_another_size_than_stated_is_a_mismatch():
    stated = np.array([(97, 61), (97, 60), (96, 61)], np.int32)
    decoded = decode(IMAGES[:3], sizes=stated, clips=[(0, 0, 96, 60)] * 3)
    assert decoded.status == {1: _native.MISMATCH, 2: _native.MISMATCH}
    assert "97" in decoded.messages[2]


def test_pixels_of_another_length_than_stated_are_a_mismatch():
    pixels = photo(20, 10)
    for size in [(20, 11), (20, 9), (2**30, 2**30), (2**31 - 1, 3), (0, 0), (-20, -10)]:
        box = (0, 0, 1, 1)
        try:
            decoded = decode([pixels], sizes=np.array([size], np.int32), clips=[box])
        except ValueError:
            continue
        assert decoded.status[0] in (_native.MISMATCH, _native.BROKEN), size


def test_more_pixels_than_allowed_are_refused():
    data = jpeg(photo(100, 80))
    assert decode([data], max_pixels=8000).status == {}
    decoded = decode([data], max_pixels=7999)
    assert decoded.status == {0: _native.BROKEN}
    assert "7999" in decoded.messages[0].replace(",", "")


ARGUMENTS = {
    "block": np.zeros(100, np.uint8),
    "offsets": np.zeros(2, np.int64),
    "lengths": np.full(2, 10, np.int64),
    "kinds": np.full(2, 0, np.uint8),
    "sizes": np.full((2, 2), 5, np.int32),
    "regions": np.tile([0.0, 0, 5, 5], (2, 1)),
    "clips": np.tile(np.array([0, 0, 5, 5], np.int32), (2, 1)),
    "flips": np.zeros(2, np.uint8),
    "out": np.zeros((2, 3, 5, 5), np.uint8),
}
READ_ONLY = np.zeros((2, 3, 5, 5), np.uint8)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "wrong",
    [
        {"offsets": np.array([0, 95], np.int64)},
        {"offsets": np.array([0, -1], np.int64)},
        {"lengths": np.array([10, 101], np.int64)},
        {"lengths": np.array([10, -1], np.int64)},
        {"offsets": np.array([0, 2**63 - 1], np.int64)},
        {"lengths": np.array([10, 2**63 - 1], np.int64), "offsets": np.array([0, 5], np.int64)},
        {"offsets": np.zeros(3, np.int64)},
        {"lengths": np.zeros(1, np.int64)},
        {"kinds": np.zeros(1, np.uint8)},
        {"kinds": np.full(2, 99, np.uint8)},
        {"sizes": np.zeros((1, 2), np.int32)},
        {"sizes": np.zeros((2, 3), np.int32)},
        {"regions": np.zeros((3, 4))},
        {"clips": np.zeros((2, 5), np.int32)},
        {"flips": np.zeros(3, np.uint8)},
        {"out": np.zeros((1, 3, 5, 5), np.uint8)},
        {"out": np.zeros((2, 4, 5, 5), np.uint8)},
        {"out": np.zeros((2, 3, 0, 5), np.uint8)},
        {"out": np.zeros((2, 5, 5, 3), np.uint8)},
        {"out": np.zeros((2, 3, 5, 10), np.uint8)[..., ::2]},
        {"out": np.zeros((2, 3, 5, 5), np.float32)},
        {"out": READ_ONLY},
        {"block": np.zeros(200, np.uint8)[::2]},
        {"block": np.zeros(100, np.int8)},
        {"checksums": np.zeros(3, np.uint32)},
        {"orientations": np.zeros(3, np.uint8)},
        {"orientations": np.full(2, 9, np.uint8)},
        {"fill": 256},
        {"fill": -1},
        {"max_pixels": -1},
    ],
    ids="-".join,
)
def test_arguments_that_cannot_be_are_refused(wrong):
    """The caller's mistake raises; only bad data becomes a status."""
    arguments = {**ARGUMENTS, **wrong}
    positional = [arguments.pop(name) for name in ARGUMENTS]
    with pytest.raises((ValueError, TypeError, IndexError)):
        _native.Pool(0).decode_batch(*positional, **arguments)


def test_a_forked_child_is_told_instead_of_waiting_for_ever():
    """Threads do not survive a fork: a pool of the parent refuses in the child, with a reason."""
    pool = _native.Pool(2)
    decode(IMAGES[:2], pool=pool)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            decode(IMAGES[:2], pool=pool)
            os.write(writer, b"decoded")
        except BaseException as error:  # noqa: BLE001  # whatever it is, the parent judges it
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(child, 0)
    assert "fork" in said
    assert decode(IMAGES[:2], pool=pool).status == {}


def test_several_threads_may_close_one_pool_at_once():
    for _ in range(20):
        pool = _native.Pool(4)
        gate = threading.Barrier(3)

        def close(pool=pool, gate=gate):
            gate.wait()
            pool.close()

        closers = [threading.Thread(target=close) for _ in range(3)]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join(60)
        assert not any(closer.is_alive() for closer in closers)


def test_a_pool_that_the_system_gives_no_threads_for_is_an_error_and_not_a_hang():
    code = """
import resource
from penstock import _native
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 200 * 2**20,) * 2)
try:
    _native.Pool(1024)
except RuntimeError as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("refused:"), done.stderr
