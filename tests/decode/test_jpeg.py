"""JPEG headers and tiles, as packing asks for them."""

import io

import pytest
from PIL import Image

from penstock.decode import jpeg
from penstock.errors import ImageError
from tests.images import jpeg as encode
from tests.images import photo


def test_a_header_tells_size_process_and_orientation():
    stream = io.BytesIO()
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(photo(40, 30)).save(stream, "jpeg", exif=exif, progressive=True)
    header = jpeg.probe(stream.getvalue())
    assert (header.width, header.height, header.components, header.precision) == (40, 30, 3, 8)
    assert (header.process, header.orientation, header.restart_interval) == ("progressive", 6, 0)


@pytest.mark.parametrize("data", [b"", b"\xff\xd8", b"hello", b"\x89PNG\r\n\x1a\n"])
def test_what_has_no_frame_header_is_an_image_error(data):
    with pytest.raises(ImageError, match="not a readable JPEG header"):
        jpeg.probe(data)


def test_tiling_adds_restart_markers_and_keeps_the_pixels():
    data = encode(photo(160, 96))
    tiled = jpeg.tile(data)
    assert tiled.is_tiled
    assert jpeg.probe(tiled.data).restart_interval > 0
    assert list(Image.open(io.BytesIO(tiled.data)).tobytes()) == list(Image.open(io.BytesIO(data)).tobytes())
    assert repr(tiled) == f"Tiled(tiled, {len(tiled.data)} bytes)"


def test_what_cannot_be_tiled_comes_back_with_the_reason():
    tiled = jpeg.tile(b"no JPEG at all")
    assert not tiled.is_tiled
    assert tiled.data == b"no JPEG at all"
    assert tiled.outcome
