"""The batch decoder: every format lands in its slot, errors stay at their position, threads change nothing."""

import io
import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from penstock import _native
from penstock.decode.batch import BatchDecoder, Encoded, Expected
from penstock.errors import ChecksumError, ImageError
from penstock.types import Column, Geometry
from tests.images import jpeg, photo

SIZE = (48, 32)
PIXELS = [photo(*SIZE, seed=seed) for seed in range(6)]


def saved(pixels, form, **options):
    stream = io.BytesIO()
    if form == "npy":
        np.save(stream, pixels)
    else:
        (pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)).save(stream, form, **options)
    return stream.getvalue()


def encoded(items, *, verify=True, size=SIZE, is_mask=False):
    """Lay (format, bytes) pairs into a block, as a dataset would."""
    formats = tuple(sorted({form for form, _ in items}))
    data = [data for _, data in items]
    lengths = np.array([len(one) for one in data], np.int64)
    offsets = np.cumsum(lengths) - lengths + 3
    column = Column(
        file=np.zeros(len(items), np.int32),
        offset=offsets,
        length=lengths,
        crc32c=np.array([_native.crc32c(one) for one in data], np.uint32),
        format=np.array([formats.index(form) for form, _ in items], np.uint8),
        width=np.full(len(items), size[0], np.int32),
        height=np.full(len(items), size[1], np.int32),
        formats=formats,
    )
    expected = Expected.of(column, np.arange(len(items)), is_mask=is_mask, verify=verify)
    return Encoded(expected, np.frombuffer(b"abc" + b"".join(data), np.uint8), offsets, lengths)


def whole(count, *, flips=0, size=SIZE):
    box = np.tile([0, 0, *size], (count, 1))
    return Geometry(box.astype(np.float64), box.astype(np.int32), np.full(count, flips, np.uint8), *size)


def decode(items, *, threads=2, geometry=None, is_mask=False, verify=True, **options):
    geometry = geometry or whole(len(items))
    channels = 1 if is_mask else 3
    shape = (channels, geometry.height, geometry.width)
    if not options.get("channels_first", True):
        shape = (*shape[1:], channels)
    out = np.full((len(items), *shape), 99, np.uint8)
    decoder = BatchDecoder(threads)
    decoded = decoder.decode(encoded(items, verify=verify, is_mask=is_mask), geometry, out, **options)
    decoder.close()
    return out, decoded


MIXED = [
    ("png", saved(PIXELS[0], "png")),
    ("npy", saved(PIXELS[1], "npy")),
    ("jpeg", jpeg(PIXELS[2], quality=95)),
    ("webp", saved(PIXELS[3], "webp", lossless=True)),
    ("bmp", saved(PIXELS[4], "bmp")),
    ("tiff", saved(PIXELS[5], "tiff")),
]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_a_batch_of_mixed_formats_lands_in_its_slots(threads):
    out, decoded = decode(MIXED, threads=threads)
    assert decoded.errors == {}
    for position, pixels in enumerate(PIXELS):
        if MIXED[position][0] == "jpeg":  # the rounding of two decoders differs
            oracle = np.asarray(Image.open(io.BytesIO(MIXED[position][1])))
            assert np.abs(out[position].transpose(1, 2, 0).astype(int) - oracle).mean() < 0.6
        else:
            assert np.array_equal(out[position].transpose(1, 2, 0), pixels)


def test_channels_may_come_last_and_pictures_mirrored():
    first, _ = decode(MIXED, geometry=whole(6, flips=1))
    last, _ = decode(MIXED, geometry=whole(6, flips=1), channels_first=False)
    assert np.array_equal(last.transpose(0, 3, 1, 2), first)
    assert np.array_equal(last[0][:, ::-1], PIXELS[0])


def test_every_broken_sample_is_named_and_no_other_is_touched():
    broken = [(form, data[: len(data) * 4 // 5]) for form, data in MIXED]
    mixed = [pair for pairs in zip(MIXED, broken, strict=True) for pair in pairs]
    out, decoded = decode(mixed)
    assert sorted(decoded.errors) == [1, 3, 7, 9, 11]  # a JPEG without its end still gives pixels, with a warning
    assert decoded.warned == {5}
    assert all(isinstance(error, ImageError) for error in decoded.errors.values())
    alone, _ = decode(MIXED)
    assert np.array_equal(out[::2], alone)


def test_a_changed_byte_is_a_checksum_error_in_every_format():
    batch = encoded(MIXED)
    damaged = batch.block.copy()
    damaged[batch.offsets + batch.lengths - 3] ^= 4
    out = np.empty((6, 3, SIZE[1], SIZE[0]), np.uint8)
    changed = replace(batch, block=damaged)
    errors = BatchDecoder(1).decode(changed, whole(6), out).errors
    assert sorted(errors) == list(range(6))
    assert all(isinstance(error, ChecksumError) for error in errors.values())
    assert "crc32c got" in str(errors[0])


def test_without_checksums_nothing_is_verified():
    out, decoded = decode(MIXED, verify=False)
    assert decoded.errors == {}
    assert np.array_equal(out, decode(MIXED)[0])


def test_an_image_of_another_size_than_the_index_says_is_an_error():
    items = [(form, saved(photo(20, 20), form)) for form in ("png", "npy", "jpeg")]
    _, decoded = decode(items)
    assert sorted(decoded.errors) == [0, 1, 2]
    assert "20x20" in str(decoded.errors[0])
    assert "20x20" in str(decoded.errors[2])


def test_a_cmyk_jpeg_is_left_to_pillow():
    data = saved(Image.fromarray(PIXELS[0]).convert("CMYK"), "jpeg", quality=95)
    out, decoded = decode([("jpeg", data), MIXED[2]])
    assert decoded.errors == {}
    assert np.array_equal(out[0].transpose(1, 2, 0), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))


def test_masks_keep_their_values_under_resampling():
    values = np.random.default_rng(0).choice(np.array([3, 77, 255], np.uint8), (SIZE[1], SIZE[0]))
    palette = Image.fromarray(values // 100).convert("P")
    items = [("png", saved(values, "png")), ("npy", saved(values[:, :, None], "npy")), ("png", saved(palette, "png"))]
    geometry = whole(3)
    out, decoded = decode(items, is_mask=True)
    assert decoded.errors == {}
    assert np.array_equal(out[0, 0], values)
    assert np.array_equal(out[1, 0], values)
    smaller = Geometry(geometry.regions, geometry.clips, geometry.flips, 17, 13)
    out, _ = decode(items, is_mask=True, geometry=smaller)
    assert set(np.unique(out[:2])) <= {3, 77, 255}
    assert np.array_equal(out[0], out[1])


def test_masks_are_filled_with_their_own_value():
    values = np.full((SIZE[1], SIZE[0], 1), 5, np.uint8)
    box = np.array([[-48, 0, 48, 32]])
    clip = np.array([[0, 0, 48, 32]], np.int32)
    geometry = Geometry(box.astype(np.float64), clip, np.zeros(1, np.uint8), 96, 32, fill=1, mask_fill=200)
    out, _ = decode([("npy", saved(values, "npy"))], is_mask=True, geometry=geometry)
    assert np.all(out[0, 0, :, :48] == 200)
    assert np.all(out[0, 0, :, 48:] == 5)


def test_the_exif_orientation_is_applied_on_request():
    exif = Image.Exif()
    exif[274] = 6  # a quarter turn to the right
    data = saved(PIXELS[0], "jpeg", quality=95, exif=exif)
    batch = encoded([("jpeg", data), MIXED[0]])
    decoder = BatchDecoder(0)
    orientations = decoder.orientations(batch)
    assert orientations.tolist() == [6, 1]
    upright = whole(1, size=(32, 48))
    out = np.empty((1, 3, 48, 32), np.uint8)
    decoder.decode(encoded([("jpeg", data)]), upright, out, orientations=orientations[:1])
    plain = np.empty((1, 3, 32, 48), np.uint8)
    decoder.decode(encoded([("jpeg", data)]), whole(1), plain)
    turned = np.rot90(plain[0], -1, axes=(1, 2)).astype(int)
    assert np.abs(out[0] - turned).max() <= 4  # colour is interpolated along the other axis first


def test_a_decoder_refuses_to_work_in_a_forked_child():
    decoder = BatchDecoder(1)
    child = os.fork()
    if child == 0:
        try:
            decoder.decode(encoded(MIXED), whole(6), np.empty((6, 3, SIZE[1], SIZE[0]), np.uint8))
        except ValueError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    decoder.close()


def test_samples_to_leave_out_are_not_looked_at():
    out, decoded = decode(
        [*MIXED, ("jpeg", b"nothing of the kind"), ("png", b"nor this")], leave_out={6: None, 7: None, 2: None}
    )
    assert decoded.errors == {}
    assert np.all(out[[2, 6, 7]] == 99)
    assert np.array_equal(out[0].transpose(1, 2, 0), PIXELS[0])
