"""Several small files are read in the order of their place on the device, whatever order they are asked for in.

What is read, and in which order, the system says itself: inotify has an event for each read. Where a file lies is what
the file system says (FIEMAP). To one that does not say all files are in one place, and are read as they were asked for.
"""

import ctypes
import fcntl
import os
import struct

import numpy as np

from penstock import _native

COUNT, SIZE = 40, 5000
IN_ACCESS, EVENT = 0x1, struct.Struct("iIII")
FS_IOC_FIEMAP, QUERY, EXTENT = 0xC020660B, struct.Struct("=QQIIII"), struct.Struct("=QQQQQIIII")
EXTENT_UNKNOWN = 0x2


def place_on_device(path):
    """Where a file begins on the device; 0 where the file system does not say."""
    answer = bytearray(QUERY.pack(0, 1, 0, 0, 1, 0) + bytes(EXTENT.size))
    with open(path, "rb") as file:
        try:
            fcntl.ioctl(file, FS_IOC_FIEMAP, answer)
        except OSError:
            return 0
    _, physical, _, _, _, flags, *_ = EXTENT.unpack_from(answer, QUERY.size)
    extents = QUERY.unpack_from(answer)[3]
    return physical if extents and not flags & EXTENT_UNKNOWN else 0


class Watch:
    """Which of some files are read, in the order of the reads."""

    def __init__(self, paths):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK)
        assert self._descriptor >= 0, os.strerror(ctypes.get_errno())
        self._paths = {self._libc.inotify_add_watch(self._descriptor, path, IN_ACCESS): path for path in paths}
        assert len(self._paths) == len(paths)

    def end(self):
        events = os.read(self._descriptor, 2**16)
        os.close(self._descriptor)
        return [self._paths[number] for number, *_ in EVENT.iter_unpack(events)]


def test_files_are_read_in_the_order_of_the_device(tmp_path):
    paths = [os.fsencode(tmp_path / f"{number:02d}") for number in range(COUNT)]
    contents = np.random.default_rng(5).integers(0, 256, (COUNT, SIZE), dtype=np.uint8)
    for path, content in zip(paths, contents, strict=True):
        with open(path, "wb") as file:
            file.write(content.tobytes())
            file.flush()
            os.fsync(file.fileno())  # a file has no place before it is on the device
    places = [place_on_device(path) for path in paths]
    asked = np.random.default_rng(6).permutation(COUNT)
    block = np.zeros(COUNT * SIZE, np.uint8)
    watch = Watch(paths)
    failed = _native.read_ranges(
        paths,
        asked.astype(np.int32),
        np.zeros(COUNT, np.int64),
        np.full(COUNT, SIZE, np.int64),
        block,
        np.arange(COUNT, dtype=np.int64) * SIZE,
        np.full(COUNT, _native.ORDINARY, np.uint8),
    )
    assert failed == []
    assert watch.end() == [paths[number] for number in sorted(asked.tolist(), key=places.__getitem__)]
    np.testing.assert_array_equal(block.reshape(COUNT, SIZE), contents[asked])
