"""Pillow decoding: formats by signature, colours as `convert("RGB")` gives them, masks as stored."""

import io

import numpy as np
import pytest
from PIL import Image

from penstock.decode.image import decode_image, decode_mask, probe_image, sniff
from penstock.errors import ImageError

RNG = np.random.default_rng(7)
PIXELS = RNG.integers(0, 256, (11, 17, 3), dtype=np.uint8)


def encoded(image: Image.Image, form: str, **options) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def is_decoded(data: bytes) -> bool:
    try:
        return decode_image(data).shape == (11, 17, 3)
    except ImageError:
        return False


@pytest.mark.parametrize("form", ["png", "bmp", "tiff", "webp"])
def test_lossless_formats_come_back_exactly(form):
    data = encoded(Image.fromarray(PIXELS), form, **({"lossless": True} if form == "webp" else {}))
    assert sniff(data) == form
    assert probe_image(data) == (form, 17, 11)
    assert np.array_equal(decode_image(data), PIXELS)


def test_a_gif_and_a_palette_png_show_their_palette_colours():
    palette = Image.fromarray(PIXELS).quantize(16)
    for form in ("gif", "png"):
        data = encoded(palette, form)
        assert probe_image(data) == (form, 17, 11)
        assert np.array_equal(decode_image(data), np.asarray(palette.convert("RGB")))


def test_a_jpeg_is_decoded_as_pillow_does_whatever_its_colour_space():
    for mode in ("RGB", "L", "CMYK"):
        data = encoded(Image.fromarray(PIXELS).convert(mode), "jpeg")
        assert sniff(data) == "jpeg"
        assert np.array_equal(decode_image(data), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))


def test_transparency_is_dropped_without_a_warning():
    for image in (
        Image.fromarray(np.dstack([PIXELS, PIXELS[:, :, 0]])),
        Image.fromarray(PIXELS).convert("LA"),
    ):
        assert np.array_equal(decode_image(encoded(image, "png")), np.asarray(image.convert("RGB")))
    palette = Image.fromarray(PIXELS).quantize(8)
    data = encoded(palette, "png", transparency=bytes(range(8)))
    assert np.array_equal(decode_image(data), np.asarray(palette.convert("RGB")))


def test_sixteen_bit_grey_keeps_its_upper_byte():
    wide = RNG.integers(0, 65536, (5, 6)).astype(np.uint16)
    pixels = decode_image(encoded(Image.fromarray(wide), "png"))
    assert np.array_equal(pixels, np.repeat((wide >> 8).astype(np.uint8)[:, :, None], 3, axis=2))


def test_floating_point_images_are_refused():
    with pytest.raises(ImageError, match="floating-point"):
        decode_image(encoded(Image.fromarray(np.zeros((2, 2), np.float32)), "tiff"))


def test_masks_keep_their_stored_values():
    values = RNG.integers(0, 5, (6, 9), dtype=np.uint8)
    palette = Image.fromarray(values)
    assert np.array_equal(decode_mask(encoded(palette, "png"))[:, :, 0], values)
    coloured = Image.new("P", (9, 6))
    coloured.putdata(values.ravel().tolist())
    coloured.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9, 5, 5, 5])
    assert np.array_equal(decode_mask(encoded(coloured, "png"))[:, :, 0], values)
    bits = Image.fromarray(values > 2)
    assert np.array_equal(decode_mask(encoded(bits, "png"))[:, :, 0], (values > 2).astype(np.uint8))


def test_a_coloured_mask_is_refused_with_a_hint():
    with pytest.raises(ImageError, match="hint: store class numbers"):
        decode_mask(encoded(Image.fromarray(PIXELS), "png"))


@pytest.mark.parametrize("data", [b"", b"GIF", b"hello, world, this is text", b"\x00" * 64])
def test_what_is_no_image_is_named_by_its_first_bytes(data):
    with pytest.raises(ImageError, match="not an image of a supported format"):
        probe_image(data)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
@pytest.mark.filterwarnings("ignore:Truncated File Read")
@pytest.mark.parametrize("form", ["png", "bmp", "tiff", "webp", "gif"])
def test_a_truncated_image_is_an_image_error_or_pixels_and_nothing_else(form):
    data = encoded(Image.fromarray(PIXELS), form)
    decoded = sum(is_decoded(data[:length]) for length in range(4, len(data)))
    assert decoded < len(data) / 2


def test_a_header_that_states_too_many_pixels_is_refused_before_decoding():
    data = bytearray(encoded(Image.fromarray(PIXELS), "bmp"))
    data[18:26] = (40_000).to_bytes(4, "little") * 2
    with pytest.raises(ImageError, match="too many pixels"):
        decode_image(bytes(data))
    with pytest.raises(ImageError, match="17x11"):
        decode_image(encoded(Image.fromarray(PIXELS), "png"), max_pixels=100)
