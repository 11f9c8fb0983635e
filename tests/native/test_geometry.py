"""Regions, clips, flips, layouts, orientation, fill: held to the slow twin, exactly where nothing is rounded."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps
from tests.images import SAMPLING, cjpeg, jpeg, photo
from tests.native.calls import decode, decode_one
from tests.native.reference import nearest, resample

from penstock import _native

MODES = [*SAMPLING, "grey"]


def encoded(width, height, mode, **options):
    pixels = photo(width, height)
    return cjpeg(pixels[..., 1], **options) if mode == "grey" else cjpeg(pixels, sampling=mode, **options)


@st.composite
def views(draw):
    """An image size, a region (fractions, partly outside), a clip and an output size."""
    width, height = draw(st.integers(1, 90)), draw(st.integers(1, 70))
    left, top = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    clip = (left, top, draw(st.integers(left + 1, width)), draw(st.integers(top + 1, height)))
    x0 = draw(st.floats(-20, width, allow_nan=False, width=32))
    y0 = draw(st.floats(-20, height, allow_nan=False, width=32))
    region = (x0, y0, x0 + draw(st.floats(0.5, 120, width=32)), y0 + draw(st.floats(0.5, 120, width=32)))
    return (width, height), region, clip, (draw(st.integers(1, 60)), draw(st.integers(1, 60)))


@given(views(), st.booleans(), st.sampled_from([0, 114, 255]))
def test_pixels_are_resampled_like_the_twin_does(view, flip, fill):
    (width, height), region, clip, size = view
    pixels = np.random.default_rng(width * height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    ours = decode_one(pixels, regions=region, clips=clip, size=size, flip=flip, fill=fill)
    expected = resample(pixels, region, clip, size, flip=flip, fill=fill)
    assert np.abs(ours - expected).max() <= 1.01


@given(views(), st.booleans(), st.sampled_from([0, 255]))
def test_masks_take_the_pixel_under_the_centre(view, flip, fill):
    (width, height), region, clip, size = view
    pixels = np.random.default_rng(width * height).integers(0, 256, (height, width, 1), dtype=np.uint8)
    ours = decode_one(pixels, regions=region, clips=clip, size=size, flip=flip, fill=fill, nearest=True, channels=1)
    assert np.array_equal(ours, nearest(pixels, region, clip, size, flip=flip, fill=fill))


@given(views())
def test_a_channel_alone_is_resampled_like_one_of_three(view):
    (width, height), region, clip, size = view
    pixels = photo(width, height)
    three = decode_one(pixels, regions=region, clips=clip, size=size)
    one = decode_one(np.ascontiguousarray(pixels[..., 1:2]), regions=region, clips=clip, size=size, channels=1)
    assert np.array_equal(one, three[..., 1:2])


def test_pixels_as_they_are_come_out_as_they_are():
    pixels = photo(61, 43)
    assert np.array_equal(decode_one(pixels), pixels)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", [[], ["-progressive"]])
def test_a_plain_crop_of_tiles_is_the_crop_of_the_whole_image(mode, options):
    """A progressive original is decoded by libjpeg-turbo, so it is held to its own whole; tiles never differ."""
    data = encoded(237, 171, mode, options=options)
    tiled, outcome = _native.tile_jpeg(data)
    assert outcome == "tiled"
    wholes = {variant: decode_one(variant) for variant in (data, tiled)}
    if not options:
        assert np.array_equal(wholes[data], wholes[tiled])
    random = np.random.default_rng(5)
    for _ in range(25):
        x0, x1 = sorted(random.choice(238, 2, replace=False))
        y0, y1 = sorted(random.choice(172, 2, replace=False))
        box = (int(x0), int(y0), int(x1), int(y1))
        for variant, whole in wholes.items():
            assert np.array_equal(decode_one(variant, regions=box, clips=box), whole[y0:y1, x0:x1])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scaling", [True, False])
def test_a_resampled_crop_of_tiles_is_that_of_the_untiled_image(mode, scaling):
    data = encoded(637, 471, mode)
    tiled = _native.tile_jpeg(data)[0]
    random = np.random.default_rng(6)
    for size in [(224, 224), (48, 64), (20, 16)]:
        for _ in range(5):
            x0, x1 = sorted(random.choice(638, 2, replace=False))
            y0, y1 = sorted(random.choice(472, 2, replace=False))
            box = (int(x0), int(y0), int(x1), int(y1))
            options = {"regions": box, "clips": box, "size": size, "scaling": scaling}
            assert np.array_equal(decode_one(tiled, **options), decode_one(data, **options))


@pytest.mark.parametrize("mode", MODES)
def test_a_flip_mirrors_the_output_exactly(mode):
    data = encoded(100, 80, mode)
    for box, size in [((0, 0, 100, 80), (100, 80)), ((3, 7, 90, 71), (64, 48)), ((3, 7, 40, 31), (64, 48))]:
        plain = decode_one(data, regions=box, clips=box, size=size)
        assert np.array_equal(decode_one(data, regions=box, clips=box, size=size, flip=True), plain[:, ::-1])


@pytest.mark.parametrize("mode", MODES)
def test_both_layouts_hold_the_same_pixels(mode):
    data = encoded(100, 80, mode)
    for size in [(100, 80), (37, 53)]:
        last, first = (decode_one(data, size=size, channels_first=layout) for layout in (False, True))
        assert np.array_equal(last, first)


def test_a_jpeg_is_padded_with_the_fill():
    data = encoded(60, 40, "4:4:4")
    ours = decode_one(data, regions=(-10, -5, 70, 45), clips=(0, 0, 60, 40), size=(80, 50), fill=77)
    assert np.array_equal(ours[5:45, 10:70], decode_one(data))
    border = np.ones((50, 80), bool)
    border[5:45, 10:70] = False
    assert (ours[border] == 77).all()


def test_a_region_wholly_outside_is_all_fill():
    data = encoded(60, 40, "4:2:0")
    ours = decode_one(data, regions=(200, 200, 230, 230), clips=(0, 0, 60, 40), size=(30, 30), fill=9)
    assert (ours == 9).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied_before_everything_else(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = jpeg(photo(90, 60), exif=exif, subsampling=0)
    with Image.open(io.BytesIO(stored)) as image:
        width, height = ImageOps.exif_transpose(image).size
    plain = decode_one(stored)
    upright = np.asarray(ImageOps.exif_transpose(with_orientation(plain, orientation)))
    orientations = np.array([orientation], np.uint8)
    whole = (0, 0, width, height)
    ours = decode_one(stored, regions=whole, clips=whole, orientations=orientations, size=(width, height))
    assert np.array_equal(ours, upright)
    box = (7, 11, 53, 49)
    for variant in (stored, _native.tile_jpeg(stored)[0]):
        crop = decode_one(variant, regions=box, clips=box, orientations=orientations, size=(46, 38), flip=True)
        assert np.array_equal(crop, upright[11:49, 7:53][:, ::-1])
        small = decode_one(variant, regions=box, clips=box, orientations=orientations, size=(20, 20))
        assert np.abs(small - resample(upright, box, box, (20, 20))).mean() <= 1


def with_orientation(pixels, orientation):
    """The pixels as a Pillow image that says how it should be turned."""
    image = Image.fromarray(pixels)
    image.getexif()[0x0112] = orientation
    return image


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_of_pixels(orientation):
    pixels = photo(90, 60)
    upright = np.asarray(ImageOps.exif_transpose(with_orientation(pixels, orientation)))
    whole = (0, 0, upright.shape[1], upright.shape[0])
    ours = decode_one(pixels, regions=whole, clips=whole, orientations=np.array([orientation], np.uint8))
    assert np.array_equal(ours, upright)


def test_orientation_is_ignored_unless_asked_for():
    exif = Image.Exif()
    exif[0x0112] = 6
    pixels = photo(90, 60)
    assert np.array_equal(decode_one(jpeg(pixels, exif=exif)), decode_one(jpeg(pixels)))


def test_a_view_of_a_single_pixel():
    data = encoded(60, 40, "4:2:0")
    whole = decode_one(data)
    for x, y in [(0, 0), (59, 39), (31, 17), (15, 16)]:
        box = (x, y, x + 1, y + 1)
        assert np.array_equal(decode_one(data, regions=box, clips=box)[0, 0], whole[y, x])
        assert (decode_one(data, regions=box, clips=box, size=(5, 5)) == whole[y, x]).all()


def test_regions_of_no_extent_or_no_number_are_refused():
    """A region that cannot be is the caller's mistake and no picture."""
    pixels = photo(20, 20)
    for region in [(5, 5, 5, 9), (9, 5, 5, 9), (np.nan, 0, 1, 1), (0, 0, np.inf, 1), (0, 0, 1e300, 1)]:
        with pytest.raises(ValueError, match=r"\w"):
            decode([pixels], regions=[region], clips=[(0, 0, 20, 20)], size=(4, 4))


@pytest.mark.parametrize(
    "clip", [(0, 0, 21, 20), (-9, -9, 20, 20), (0, 0, 20, 2**31 - 1), (-(2**31), 0, 2**31 - 1, 20)]
)
def test_a_clip_reaches_no_further_than_the_image(clip):
    for image in (jpeg(photo(20, 20)), photo(20, 20)):
        ours = decode_one(image, regions=(-5, -5, 25, 25), clips=clip, size=(30, 30), fill=7)
        expected = decode_one(image, regions=(-5, -5, 25, 25), clips=(0, 0, 20, 20), size=(30, 30), fill=7)
        assert np.array_equal(ours, expected)


@pytest.mark.parametrize("clip", [(5, 5, 5, 9), (9, 5, 5, 9), (30, 30, 40, 40), (-10, 0, -5, 20)])
def test_a_clip_without_pixels_shows_the_fill(clip):
    for image in (jpeg(photo(20, 20)), photo(20, 20)):
        assert (decode_one(image, regions=(0, 0, 20, 20), clips=clip, size=(20, 20), fill=7) == 7).all()


@pytest.mark.parametrize("turned", [{"flips": [1]}, {"orientations": np.array([2], np.uint8)}])
def test_a_mirrored_cut_is_the_cut_mirrored_bit_by_bit(turned):
    """On a smooth image, whose colours all lie in their range: nothing else asks for converting them first."""
    ramp = np.linspace(60, 190, 128 * 96 * 3).reshape(96, 128, 3).astype(np.uint8)
    data = jpeg(ramp, subsampling=2)
    assert np.array_equal(decode([data], **turned).pixels[0], decode_one(data)[:, ::-1])


def test_nearest_of_a_turned_image_is_that_of_the_image_turned_first():
    pixels = photo(16, 16, seed=3)
    options = {"size": (8, 8), "nearest": True, "clips": [(0, 0, 16, 16)]}
    turned = decode([pixels], orientations=np.array([2], np.uint8), **options).pixels[0]
    assert np.array_equal(turned, decode([np.ascontiguousarray(pixels[:, ::-1])], **options).pixels[0])


@pytest.mark.parametrize(
    "clip", [(0, 0, -(2**31), 64), (2**31 - 1, 0, 2**31 - 1, 64), (-(2**31), -(2**31), 2**31 - 1, 5)]
)
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_clip_may_be_anything(clip, orientation):
    data = jpeg(photo(64, 64, seed=2))
    for region in [(65.0, 0.0, 200.0, 64.0), (-300.0, -9.0, 900000.0, 70.0)]:
        options = {"regions": [region], "clips": [clip], "size": (8, 8), "fill": 9}
        pixels = decode([data], orientations=np.array([orientation], np.uint8), **options).pixels
        if clip[2] <= clip[0]:
            assert (pixels == 9).all()
        assert pixels.shape == (1, 8, 8, 3)


@pytest.mark.parametrize("width", [8_000, 30_000, 65_000])
def test_one_output_pixel_may_stand_for_very_many(width):
    stripes = np.zeros((1, width, 3), np.uint8)
    stripes[:, ::2] = 255
    assert abs(int(decode_one(stripes, size=(1, 1))[0, 0, 0]) - 127) <= 2
