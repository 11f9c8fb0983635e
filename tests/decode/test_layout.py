"""Layouts: shapes and axes by their names; a clip fails with its first bad frame."""

import numpy as np
import pytest

from penstock.decode.batch import BatchDecoder, Encoded, Expected
from penstock.decode.layout import channel_axis, decode_into, shape_of
from penstock.types import Column, Frames, Geometry
from tests.images import jpeg, photo

SIZE = (40, 24)


def encoded(data, frames):
    """Clips of so many frames each, out of these images."""
    lengths = np.array([len(one) for one in data])
    offsets, n = np.cumsum(lengths) - lengths, len(data) // frames
    column = Column(
        file=np.zeros(n, np.int32),
        offset=offsets[::frames],
        length=lengths.reshape(n, frames).sum(axis=1),
        crc32c=None,
        format=np.zeros(n, np.uint8),
        width=np.full(n, SIZE[0], np.int32),
        height=np.full(n, SIZE[1], np.int32),
        formats=("mjpeg",),
        frames=Frames(np.arange(n + 1) * frames, offsets - np.repeat(offsets[::frames], frames), lengths, None),
    )
    expected = Expected.of(column, np.arange(n), np.arange(n * frames).reshape(n, frames))
    return Encoded(expected, np.frombuffer(b"".join(data), np.uint8), offsets, lengths)


def geometry(n):
    box = np.array([[0, 0, *SIZE]] * n)
    return Geometry(box.astype(np.float64), box.astype(np.int32), np.arange(n, dtype=np.uint8) % 2, *SIZE)


def test_shapes_and_axes_are_read_off_the_names():
    sides = {"channels": 3, "height": 5, "width": 7}
    assert shape_of("CHW", **sides) == (3, 5, 7)
    assert shape_of("HWC", **sides) == (5, 7, 3)
    assert shape_of("CTHW", **sides, frames=2) == (3, 2, 5, 7)
    assert shape_of("TCHW", **sides, frames=2) == (2, 3, 5, 7)
    assert shape_of("THWC", **sides, frames=2) == (2, 5, 7, 3)
    assert [channel_axis(one) for one in ("CHW", "HWC", "CTHW", "TCHW", "THWC")] == [-3, -1, -4, -3, -1]


@pytest.mark.parametrize("frames", [1, 3])
def test_every_layout_holds_the_frames_of_the_same_clips(frames):
    data = [jpeg(photo(*SIZE, seed=at)) for at in range(2 * frames)]
    decoder, made = BatchDecoder(0), {}
    for layout in ("CTHW", "TCHW", "THWC"):
        out = np.empty((2, *shape_of(layout, channels=3, height=SIZE[1], width=SIZE[0], frames=frames)), np.uint8)
        assert decode_into(decoder, encoded(data, frames), geometry(2), out, layout=layout).errors == {}
        made[layout] = out
    assert np.array_equal(made["CTHW"], made["TCHW"].transpose(0, 2, 1, 3, 4))
    assert np.array_equal(made["THWC"], made["TCHW"].transpose(0, 1, 3, 4, 2))


def test_a_sample_has_the_error_of_its_first_bad_frame_and_one_that_is_left_out_has_none():
    data = [jpeg(photo(*SIZE, seed=at)) for at in range(9)]
    data[1] = data[2] = data[4] = b"broken"
    out = np.full((3, 3, 3, SIZE[1], SIZE[0]), 7, np.uint8)
    decoder = BatchDecoder(0)
    found = decode_into(decoder, encoded(data, 3), geometry(3), out, layout="CTHW", leave_out={1})
    assert {at: error.frame for at, error in found.errors.items()} == {0: 1}
    assert (out[1] == 7).all()
    assert (out[2] != 7).any()


def test_a_clip_is_warned_about_once():
    whole = jpeg(photo(*SIZE), progressive=True)
    data = [whole[:-2], whole[:-2], whole, whole]
    out = np.empty((2, 3, 2, SIZE[1], SIZE[0]), np.uint8)
    found = decode_into(BatchDecoder(0), encoded(data, 2), geometry(2), out, layout="CTHW")
    assert found.errors == {}
    assert found.warned == {0}


def test_a_part_of_the_samples_has_their_frames():
    data = [jpeg(photo(*SIZE, seed=at)) for at in range(6)]
    part = encoded(data, 2).part(slice(1, 3))
    assert len(part) == 2
    assert [bytes(part.bytes_of(at)) for at in range(4)] == data[2:]
    assert len(part.expected.sizes) == 4
