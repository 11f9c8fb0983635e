"""Checksums: the published answers, and a slow bit-by-bit twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import _native


def slow_crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),  # the answers of RFC 3720, appendix B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_known_answers(data, expected):
    assert _native.crc32c(data) == expected


@given(st.binary(max_size=300))
def test_any_bytes_sum_as_the_slow_twin_says(data):
    assert _native.crc32c(data) == slow_crc32c(data)


@given(st.binary(max_size=5000), st.integers(0, 5000))
def test_a_sum_goes_on_from_where_another_stopped(data, cut):
    assert _native.crc32c(data[cut:], _native.crc32c(data[:cut])) == _native.crc32c(data)


@pytest.mark.parametrize("shift", range(9))
def test_the_start_of_the_bytes_need_not_be_aligned(shift):
    data = bytes(range(256)) * 40
    assert _native.crc32c(memoryview(b"x" * shift + data)[shift:]) == _native.crc32c(data)


def test_arrays_are_bytes_too():
    data = np.arange(1000, dtype=np.uint8)
    assert _native.crc32c(data) == _native.crc32c(data.tobytes())
