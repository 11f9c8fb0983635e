"""Reading the header of a JPEG."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tests.images import SAMPLING, cjpeg, jpeg, photo
from tests.native.markers import EOI, FRAMES, Segment, put_together, take_apart, with_size

from penstock import _native


@pytest.mark.parametrize("sampling", SAMPLING)
def test_size_and_kind_of_every_chroma_mode(sampling):
    header = _native.probe(cjpeg(photo(37, 23), sampling=sampling))
    assert (header["width"], header["height"], header["components"], header["precision"]) == (37, 23, 3, 8)
    assert header["process"] == "baseline"
    assert header["sampling"] == sampling
    assert header["restart_interval"] == 0


def test_grey_has_one_component():
    header = _native.probe(cjpeg(photo(37, 23)[..., 0]))
    assert header["components"] == 1
    assert header["sampling"] == "grey"


@pytest.mark.parametrize(
    ("options", "process"),
    [(["-progressive"], "progressive"), (["-arithmetic"], "arithmetic"), (["-optimize"], "baseline")],
)
def test_the_coding_process(options, process):
    assert _native.probe(cjpeg(photo(40, 40), options=options))["process"] == process


def test_the_process_of_files_that_cannot_be_decoded_is_named_too():
    segments = take_apart(jpeg(photo(16, 16)))
    lossless = [Segment(0xC3, s.payload, s.scan) if s.marker in FRAMES else s for s in segments]
    assert _native.probe(put_together(lossless))["process"] == "lossless"
    deep = [Segment(0xC1, b"\x0c" + (s.payload or b"")[1:], s.scan) if s.marker in FRAMES else s for s in segments]
    header = _native.probe(put_together(deep))
    assert (header["process"], header["precision"]) == ("extended", 12)


@pytest.mark.parametrize("interval", [1, 7, 100])
def test_the_restart_interval(interval):
    assert _native.probe(cjpeg(photo(64, 64), options=["-restart", f"{interval}B"]))["restart_interval"] == interval


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_exif_orientation(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert _native.probe(jpeg(photo(16, 16), exif=exif))["orientation"] == orientation


def test_no_orientation_means_upright():
    assert _native.probe(jpeg(photo(16, 16)))["orientation"] == 1


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_orientation_that_does_not_exist_means_upright(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert _native.probe(jpeg(photo(16, 16), exif=exif))["orientation"] == 1


def test_a_thumbnail_inside_exif_is_not_the_image():
    thumbnail = b"Exif\0\0" + jpeg(photo(8, 8))
    segments = take_apart(jpeg(photo(40, 30)))
    header = _native.probe(put_together([segments[0], Segment(0xE1, thumbnail), *segments[1:]]))
    assert (header["width"], header["height"]) == (40, 30)


def test_fill_bytes_before_markers_are_skipped():
    segments = take_apart(jpeg(photo(40, 30)))
    data = b"".join((b"\xff" * 5 if s.marker != 0xD8 else b"") + bytes(s) for s in segments)
    assert _native.probe(data)["width"] == 40


def test_any_buffer_will_do():
    data = jpeg(photo(40, 30))
    for buffer in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        assert _native.probe(buffer)["width"] == 40


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"\xff\xd8",
        b"\xff\xd8\xff",
        b"\x89PNG\r\n\x1a\n" + bytes(50),
        bytes(1000),
        b"\xff" * 1000,
        put_together([s for s in take_apart(jpeg(photo(16, 16))) if s.marker not in FRAMES]),
        bytes(Segment(0xD8)) + bytes(Segment(EOI)),
    ],
)
def test_what_is_no_jpeg_or_has_no_frame_is_refused(data):
    with pytest.raises(ValueError, match=r"\w"):
        _native.probe(data)


def test_every_cut_gives_the_header_or_a_refusal():
    data = jpeg(photo(24, 16), exif=Image.Exif(), comment=b"a comment")
    whole = _native.probe(data)
    for stop in range(len(data)):
        try:
            assert _native.probe(data[:stop]) == whole
        except ValueError:
            continue


@given(st.binary(max_size=200))
def test_any_bytes_give_a_header_or_a_refusal(data):
    for start in (b"", b"\xff\xd8", b"\xff\xd8\xff\xe1", b"\xff\xd8\xff\xe1\x00\x40Exif\0\0", b"\xff\xd8\xff\xc0"):
        try:
            assert _native.probe(start + data)["width"] >= 0
        except ValueError:
            continue


def test_the_largest_size_is_read_as_it_stands():
    header = _native.probe(with_size(jpeg(photo(16, 16)), 65535, 65535))
    assert (header["width"], header["height"]) == (65535, 65535)
