"""Lossless rewriting into tiles: the same coefficients, the same company (EXIF, ICC, comments), restarts by the rules.

Equality of coefficients is shown by a route of its own: libjpeg-turbo's djpeg must give the same pixels for both files,
and so must Pillow.
"""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms
from tests.images import SAMPLING, cjpeg, djpeg, jpeg, photo, rgb
from tests.native.markers import COM, FRAMES, Segment, frame, mcus, put_together, restart_interval, restarts, take_apart

from penstock import _native


def assert_tiled(data):
    """Tile it, hold the result to the rules, return it."""
    tiled, outcome = _native.tile_jpeg(data)
    assert outcome == "tiled"
    same, other = djpeg(data), djpeg(tiled)
    assert same is not None
    assert other is not None
    assert np.array_equal(same, other)
    assert np.array_equal(rgb(data), rgb(tiled))
    assert frame(tiled).marker in (0xC0, 0xC1)
    across, down = mcus(tiled)
    interval = restart_interval(tiled)
    assert 0 < interval <= 6
    if any(across % near == 0 for near in (3, 4, 5, 6)):  # tiles aligned from row to row, where a row allows it
        assert across % interval == 0
    count = -(-across * down // interval) - 1
    assert restarts(tiled) == [number % 8 for number in range(count)]
    return tiled


@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize(
    "options", [[], ["-progressive"], ["-arithmetic"], ["-restart", "5B"], ["-progressive", "-restart", "1"]]
)
def test_every_chroma_mode_and_process_becomes_tiles_of_the_same_image(sampling, options):
    assert_tiled(cjpeg(photo(203, 131), sampling=sampling, options=options))


@pytest.mark.parametrize("options", [[], ["-progressive"], ["-arithmetic"], ["-restart", "3B"]])
def test_grey_becomes_tiles(options):
    assert_tiled(cjpeg(photo(203, 131)[..., 0], options=options))


@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize(
    "size", [(1, 1), (1, 9), (9, 1), (7, 8), (8, 8), (15, 17), (16, 16), (17, 33), (33, 5), (65, 2)]
)
def test_odd_sizes_down_to_a_single_pixel(sampling, size):
    assert_tiled(cjpeg(photo(*size), sampling=sampling))
    assert_tiled(cjpeg(photo(*size)[..., 0]))


@pytest.mark.parametrize("mcus_across", [2, 3, 7, 13, 31, 37, 61, 127])
def test_rows_whose_mcus_have_no_divisor_but_one_and_themselves(mcus_across):
    data = cjpeg(photo(8 * mcus_across, 40), sampling="4:4:4", quality=80)
    assert mcus(assert_tiled(data))[0] == mcus_across


def test_restart_numbers_wrap_many_times():
    tiled = assert_tiled(cjpeg(photo(640, 480), sampling="4:4:4", quality=60))
    assert len(restarts(tiled)) > 8 * 8


@given(
    width=st.integers(1, 120),
    height=st.integers(1, 80),
    interval=st.integers(1, 70),
    mode=st.sampled_from(list(SAMPLING)),
)
def test_sources_may_have_any_restart_interval(width, height, interval, mode):
    assert_tiled(cjpeg(photo(width, height), sampling=mode, options=["-restart", f"{interval}B"]))


@pytest.mark.parametrize("quality", [1, 5, 30, 75, 96, 100])
def test_any_quality(quality):
    assert_tiled(cjpeg(photo(100, 75), quality=quality))


def test_a_file_of_several_scans_becomes_one(tmp_path):
    script = tmp_path / "scans"
    script.write_text("0;\n1;\n2;\n")
    tiled = assert_tiled(cjpeg(photo(100, 75), options=["-scans", str(script)]))
    assert sum(segment.marker == 0xDA for segment in take_apart(tiled)) == 1


def test_tiles_stay_tiles():
    tiled = assert_tiled(cjpeg(photo(203, 131)))
    assert _native.tile_jpeg(tiled) == (tiled, "tiled")


def test_tiling_costs_little():
    data = jpeg(photo(500, 375), quality=90, optimize=True)
    assert len(_native.tile_jpeg(data)[0]) < 1.05 * len(data)


def company(data):
    """Everything in a file that is not the image: application data and comments, in order."""
    return [bytes(segment) for segment in take_apart(data) if 0xE0 <= segment.marker <= 0xEF or segment.marker == COM]


def test_exif_icc_and_comments_are_kept():
    exif = Image.Exif()
    exif[0x010E] = "described"
    exif[0x0112] = 6
    icc = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = jpeg(photo(90, 60), exif=exif, icc_profile=icc * 200, comment=b"a comment")  # too long for one segment
    assert sum(bytes(s).startswith(b"\xff\xe2") for s in take_apart(data)) > 1
    assert company(assert_tiled(data)) == company(data)


def test_unknown_application_data_and_several_comments_are_kept_in_order():
    start, jfif, *rest = take_apart(jpeg(photo(90, 60)))
    foreign = [
        Segment(COM, b"one"),
        Segment(0xEB, b"JP\0\0" + bytes(60_000)),
        Segment(COM, b""),
        Segment(0xEF, b"last"),
    ]
    data = put_together([start, jfif, *foreign, *rest])
    assert company(assert_tiled(data)) == company(data)


def test_a_file_without_jfif_header_gets_none():
    data = put_together([s for s in take_apart(jpeg(photo(90, 60))) if s.marker != 0xE0])
    assert company(assert_tiled(data)) == []


def test_rgb_stays_rgb():
    tiled = assert_tiled(cjpeg(photo(90, 60), sampling="4:4:4", options=["-rgb"]))
    assert company(tiled) != []  # the Adobe marker is what says that the components are RGB


def cmyk() -> bytes:
    out = io.BytesIO()
    Image.fromarray(photo(40, 30)).convert("CMYK").save(out, "JPEG")
    return out.getvalue()


def ycck() -> bytes:
    return put_together(
        [Segment(0xEE, (s.payload or b"")[:-1] + b"\2") if s.marker == 0xEE else s for s in take_apart(cmyk())]
    )


def with_frame(data: bytes, marker: int, precision: int) -> bytes:
    return put_together(
        [
            Segment(marker, bytes([precision]) + (s.payload or b"")[1:], s.scan) if s.marker in FRAMES else s
            for s in take_apart(data)
        ]
    )


PASSED_THROUGH = {
    "cmyk": cmyk(),
    "ycck": ycck(),
    "12 bits": with_frame(jpeg(photo(40, 30)), 0xC1, 12),
    "lossless": with_frame(jpeg(photo(40, 30)), 0xC3, 8),
    "hierarchical": with_frame(jpeg(photo(40, 30)), 0xC5, 8),
    "cut": jpeg(photo(40, 30))[:-200],
    "header only": jpeg(photo(40, 30))[:300],
    "empty": b"",
    "no jpeg": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "zeros": bytes(500),
    "no quantisation table": put_together([s for s in take_apart(jpeg(photo(40, 30))) if s.marker != 0xDB]),
}


@pytest.mark.parametrize("kind", PASSED_THROUGH)
def test_what_cannot_be_tiled_comes_back_untouched_with_the_reason(kind):
    data = PASSED_THROUGH[kind]
    same, reason = _native.tile_jpeg(data)
    assert same == data
    assert reason != "tiled"
    assert len(reason) > 5


def test_a_warning_of_the_decoder_is_reason_enough_to_leave_a_file_alone():
    """What libjpeg-turbo repairs by guessing must not be written down as if it had been there."""
    segments = take_apart(cjpeg(photo(100, 75), options=["-restart", "4B"]))
    without = [s for i, s in enumerate(segments) if i != len(segments) - 6]
    data = put_together(without)
    assert _native.tile_jpeg(data)[0] == data


@given(st.binary(max_size=300), st.integers(0, 600))
def test_foreign_bytes_in_the_middle_never_yield_a_different_image(junk, at):
    data = jpeg(photo(32, 24), quality=80)
    at = min(at, len(data))
    broken = data[:at] + junk + data[at:]
    tiled, outcome = _native.tile_jpeg(broken)
    if outcome != "tiled":
        assert tiled == broken
        return
    before, after = djpeg(broken), djpeg(tiled)
    assert before is not None
    assert after is not None
    assert np.array_equal(before, after)


def test_bytes_behind_the_end_do_no_harm():
    data = jpeg(photo(40, 30)) + b"trailing bytes of a camera"
    tiled, outcome = _native.tile_jpeg(data)
    assert outcome == "tiled" or tiled == data
    assert np.array_equal(rgb(data), rgb(tiled))


def test_a_file_with_a_component_but_no_scan_for_it_is_kept(tmp_path):
    scans = tmp_path / "scans"
    scans.write_text("0;\n1;\n2;\n")
    whole = cjpeg(photo(32, 32, seed=1), options=["-scans", str(scans)])
    lacking = whole[: whole.rindex(b"\xff\xda")] + b"\xff\xd9"
    data, outcome = _native.tile_jpeg(lacking)
    assert data == lacking
    assert outcome == "broken: a component has no scan"


def test_a_header_that_states_more_than_the_bytes_can_hold_costs_no_memory():
    data = bytearray(jpeg(photo(16, 16, seed=1)))
    at = data.index(b"\xff\xc0") + 5
    data[at : at + 4] = (22000).to_bytes(2, "big") * 2
    kept, outcome = _native.tile_jpeg(bytes(data))
    assert kept == bytes(data)
    assert "more pixels than the data can hold" in outcome
