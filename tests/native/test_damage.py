"""Broken JPEGs: an error for that sample, or the pixels that libjpeg-turbo makes of the data, its warning recorded.

Never a crash, and never pixels that came from nowhere. The oracle is Pillow (which is libjpeg-turbo), given the damaged
data followed by what libjpeg-turbo's own file reader supplies at a premature end: end-of-image markers without end. So
both see the same stream. Where Pillow declines, djpeg decides. `make check-native` runs all of this under the
sanitizers as well.
"""

import io
import itertools
import subprocess
import warnings

import numpy as np
import pytest
from PIL import Image
from tests.images import cjpeg, djpeg, photo
from tests.native.calls import decode, decode_one
from tests.native.markers import (
    DRI,
    FRAMES,
    RESTARTS,
    SOS,
    Segment,
    put_together,
    restart_interval,
    take_apart,
    with_size,
)

from penstock import _native

WIDTH, HEIGHT = 40, 24
WHOLE = (0, 0, WIDTH, HEIGHT)
NO_PIXELS = (_native.BROKEN, _native.UNSUPPORTED, _native.MISMATCH)
ENDLESS = b"\xff\xd9" * 33_000  # longer than any segment


def small(**options):
    """A small file without chroma reduction: what libjpeg-turbo makes of it is defined to a level."""
    return cjpeg(photo(WIDTH, HEIGHT, noise=1), sampling="4:4:4", quality=60, **options)


PLAIN = small(options=["-optimize"])
TILED = _native.tile_jpeg(PLAIN)[0]
PROGRESSIVE = small(options=["-progressive"])
GREY = cjpeg(photo(WIDTH, HEIGHT)[..., 1], quality=60)
SUBSAMPLED = _native.tile_jpeg(cjpeg(photo(64, 48), quality=70))[0]
HEALTHY = {"plain": PLAIN, "tiled": TILED, "progressive": PROGRESSIVE, "grey": GREY}


def pillow(data):
    """Pillow's pixels of damaged data; None: it gives up, or will not try."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data + ENDLESS)) as image:
                if image.format != "JPEG" or image.size != (WIDTH, HEIGHT):
                    return None
                return np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError, KeyError, TypeError, EOFError):
        return None


def allowed(data, ours, tolerance=2):
    """Whether these pixels are what libjpeg-turbo makes of the data."""
    theirs = pillow(data)
    if theirs is not None and np.abs(theirs.astype(int) - ours).max() <= tolerance:
        return True
    theirs = djpeg(data)
    if theirs is None:
        return False
    if theirs.ndim == 2:
        theirs = np.repeat(theirs[..., None], 3, axis=2)
    return theirs.shape == ours.shape and np.abs(theirs.astype(int) - ours).max() <= tolerance


def judge(images, *, boxes=(WHOLE,)):
    """Decode each in every box; list what is neither an error nor libjpeg-turbo's picture (by position and box)."""
    wrong = []
    for box in boxes:
        x0, y0, x1, y1 = box
        count = len(images)
        sizes = np.tile(np.array([WIDTH, HEIGHT], np.int32), (count, 1))
        decoded = decode(images, sizes=sizes, regions=[box] * count, clips=[box] * count)
        assert set(decoded.status.values()) <= {_native.WARNED, *NO_PIXELS}
        for position, data in enumerate(images):
            if decoded.status.get(position) in NO_PIXELS:
                assert decoded.messages[position]
                continue
            whole = decoded.pixels[position]
            if box != WHOLE:
                other = decode([data], sizes=sizes[:1], clips=[WHOLE])
                if other.status.get(0) in NO_PIXELS:
                    continue  # a crop may avoid the damage
                assert np.array_equal(whole, other.pixels[0][y0:y1, x0:x1]), (position, box)
                continue
            if not allowed(data, whole):
                wrong.append((position, box))
    return wrong


@pytest.mark.parametrize("kind", HEALTHY)
def test_cut_at_every_byte(kind):
    data = HEALTHY[kind]
    cuts = [data[:stop] for stop in range(len(data))]
    assert judge(cuts) == []


@pytest.mark.parametrize("kind", HEALTHY)
def test_a_cut_is_never_silent(kind):
    data = HEALTHY[kind]
    cuts = [data[:stop] for stop in range(len(data) - 2)]  # a missing end marker alone takes no pixel away
    sizes = np.tile(np.array([WIDTH, HEIGHT], np.int32), (len(cuts), 1))
    decoded = decode(cuts, sizes=sizes)
    assert sorted(decoded.status) == list(range(len(cuts)))


@pytest.mark.parametrize("kind", HEALTHY)
def test_every_single_bit_flipped(kind):
    data = np.frombuffer(HEALTHY[kind], np.uint8)
    flipped = []
    for bit in range(len(data) * 8):
        copy = data.copy()
        copy[bit // 8] ^= 1 << bit % 8
        flipped.append(copy.tobytes())
    assert judge(flipped) == []


def test_every_single_bit_flipped_in_tiles_seen_through_a_crop():
    data = np.frombuffer(TILED, np.uint8)
    start = TILED.index(b"\xff\xda")
    flipped = []
    for bit in range(start * 8, len(data) * 8):
        copy = data.copy()
        copy[bit // 8] ^= 1 << bit % 8
        flipped.append(copy.tobytes())
    judge(flipped, boxes=[(9, 9, 23, 23), (17, 0, 40, 8)])


def test_what_libjpeg_turbo_warns_about_is_warned_about():
    """Of flips in the entropy-coded data, those where djpeg complains: an error or WARNED, never silence."""
    for kind in ("plain", "tiled"):
        data = np.frombuffer(HEALTHY[kind], np.uint8)
        start = HEALTHY[kind].index(b"\xff\xda")
        for bit in range(start * 8 + 100, len(data) * 8 - 16, 37):  # behind the last pixel nobody looks
            copy = data.copy()
            copy[bit // 8] ^= 1 << bit % 8
            damaged = copy.tobytes()
            complaint = subprocess.run(["djpeg"], input=damaged, capture_output=True, check=False).stderr
            if complaint:
                decoded = decode([damaged], sizes=np.array([[WIDTH, HEIGHT]]))
                assert decoded.status, (kind, bit, complaint)


@pytest.mark.parametrize("value", [0x00, 0xFF, 0xD9, 0xD0])
@pytest.mark.parametrize("kind", HEALTHY)
def test_every_byte_replaced(kind, value):
    data = HEALTHY[kind]
    assert judge([data[:at] + bytes([value]) + data[at + 1 :] for at in range(len(data))]) == []


@pytest.mark.parametrize("kind", HEALTHY)
def test_every_byte_left_out_or_doubled(kind):
    data = HEALTHY[kind]
    assert judge([data[:at] + data[at + 1 :] for at in range(len(data))]) == []
    assert judge([data[:at] + data[at : at + 1] + data[at:] for at in range(len(data))]) == []


def scans_of(segments):
    """Positions of the segments that carry entropy-coded data: the scan header and the restart markers."""
    return [i for i, segment in enumerate(segments) if segment.marker == SOS or segment.marker in RESTARTS]


def restart_damage():
    """Tiled files whose restart markers do not say what they should."""
    segments = take_apart(TILED)
    marks = [i for i, segment in enumerate(segments) if segment.marker in RESTARTS]
    for at in marks:
        head, mark, tail = segments[:at], segments[at], segments[at + 1 :]
        before = head[-1]
        yield "tile missing", [*head, *tail]
        yield "marker missing", [*head[:-1], Segment(before.marker, before.payload, before.scan + mark.scan), *tail]
        yield "tile doubled", [*head, mark, mark, *tail]
        yield "marker doubled", [*head, Segment(mark.marker), mark, *tail]
        for number in range(8):
            yield f"marker renumbered {number}", [*head, Segment(0xD0 + number, None, mark.scan), *tail]
        yield "tile empty", [*head, Segment(mark.marker), *tail]
        yield "tile of zeros", [*head, Segment(mark.marker, None, bytes(20)), *tail]
        yield "tile too long", [*head, Segment(mark.marker, None, mark.scan + b"\x55" * 30), *tail]
        yield "tile cut", [*head, Segment(mark.marker, None, mark.scan[: len(mark.scan) // 2]), *tail]
    for one, other in itertools.pairwise(marks):
        swapped = segments.copy()
        swapped[one], swapped[other] = swapped[other], swapped[one]
        yield "tiles swapped", swapped


def test_restart_markers_missing_doubled_or_out_of_order():
    damaged = [put_together(segments) for _, segments in restart_damage()]
    names = [name for name, _ in restart_damage()]
    assert [(names[position], box) for position, box in judge(damaged)] == []


def test_restart_markers_missing_doubled_or_out_of_order_seen_through_a_crop():
    judge([put_together(segments) for _, segments in restart_damage()], boxes=[(9, 9, 23, 23), (0, 8, 40, 16)])


def test_a_restart_interval_that_lies():
    segments = take_apart(TILED)
    at = next(i for i, segment in enumerate(segments) if segment.marker == DRI)
    interval = restart_interval(TILED)
    lies = [0, 1, 2, interval - 1, interval + 1, 2 * interval, 1000, 65535]
    damaged = [put_together([*segments[:at], Segment(DRI, n.to_bytes(2, "big")), *segments[at + 1 :]]) for n in lies]
    damaged.append(put_together([*segments[:at], *segments[at + 1 :]]))
    damaged.append(put_together([*segments[:at], Segment(DRI, b""), *segments[at + 1 :]]))
    assert judge(damaged) == []


@pytest.mark.parametrize("kind", HEALTHY)
@pytest.mark.parametrize(
    "size", [(41, 24), (40, 25), (1, 1), (8, 8), (400, 24), (40, 2400), (65535, 1), (0, 24), (40, 0)]
)
def test_a_frame_size_that_lies(kind, size):
    """Against the stated size it is a mismatch; taken at its word, an error or what libjpeg-turbo makes of it."""
    damaged = with_size(HEALTHY[kind], *size)
    stated = np.array([[WIDTH, HEIGHT]], np.int32)
    decoded = decode([damaged], sizes=stated, clips=[WHOLE])
    assert decoded.status[0] in (_native.MISMATCH, _native.BROKEN)
    if 0 in size:
        return
    believed = decode([damaged], sizes=np.array([size], np.int32), size=(64, 64))
    if believed.status.get(0) not in NO_PIXELS:
        theirs = djpeg(damaged)
        assert theirs is not None
        ours = decode([damaged], sizes=np.array([size], np.int32)).pixels[0]
        theirs = theirs if theirs.ndim == 3 else np.repeat(theirs[..., None], 3, axis=2)
        assert np.abs(theirs.astype(int) - ours).max() <= 2


def test_a_clip_of_the_stated_size_never_leaves_a_smaller_image():
    """Even where the size is not checked, what lies outside the image shows the fill and is not read."""
    damaged = with_size(PLAIN, 16, 8)
    unchecked = np.zeros((1, 2), np.int32)
    decoded = decode([damaged], sizes=unchecked, regions=[WHOLE], clips=[WHOLE], size=(40, 24), fill=99)
    assert (decoded.pixels[0, 8:] == 99).all()
    assert (decoded.pixels[0, :, 16:] == 99).all()


@pytest.mark.parametrize("kind", HEALTHY)
def test_huge_dimensions_are_refused_by_the_limit_on_pixels(kind):
    damaged = with_size(HEALTHY[kind], 65500, 65500)
    decoded = decode([damaged], sizes=np.zeros((1, 2), np.int32), clips=[(0, 0, 8, 8)])
    assert decoded.status == {0: _native.BROKEN}
    assert "pixels" in decoded.messages[0]


@pytest.mark.parametrize("kind", HEALTHY)
def test_segment_lengths_that_lie(kind):
    data = HEALTHY[kind]
    damaged = []
    at = 0
    for segment in take_apart(data):
        if segment.payload is not None:
            true = len(segment.payload) + 2
            lies = {0, 1, 2, 3, true - 1, true + 1, true + 2, true // 2, true * 2, 0x7FFF, 0xFFFF}
            damaged += [data[: at + 2] + (lie % 65536).to_bytes(2, "big") + data[at + 4 :] for lie in lies]
        at += len(bytes(segment))
    assert judge(damaged) == []


@pytest.mark.parametrize("kind", HEALTHY)
def test_segments_missing_doubled_or_swapped(kind):
    segments = take_apart(HEALTHY[kind])
    variants = []
    for at, segment in enumerate(segments):
        variants.append([*segments[:at], *segments[at + 1 :]])
        variants.append([*segments[:at], segment, segment, *segments[at + 1 :]])
        if at:
            variants.append([*segments[: at - 1], segment, segments[at - 1], *segments[at + 1 :]])
    assert judge([put_together(variant) for variant in variants]) == []


def test_huffman_tables_that_cannot_be():
    segments = take_apart(PLAIN)
    damaged = []
    for at, segment in enumerate(segments):
        if segment.marker != 0xC4:
            continue
        payload = segment.payload or b""
        for counts in (
            bytes(16),
            b"\xff" * 16,
            b"\2" + bytes(15),
            bytes(15) + b"\xff",
            b"\3" * 16,
            bytes(7) + b"\xff" * 9,
        ):
            changed = payload[:1] + counts + payload[17:]
            damaged.append(put_together([*segments[:at], Segment(0xC4, changed, segment.scan), *segments[at + 1 :]]))
        for symbols in (b"\xff", b"\0", b"\xf0", b"\x0f", b"\x1f"):
            changed = payload[:17] + symbols * (len(payload) - 17)
            damaged.append(put_together([*segments[:at], Segment(0xC4, changed, segment.scan), *segments[at + 1 :]]))
    assert judge(damaged) == []


def test_frames_whose_components_cannot_be():
    segments = take_apart(PLAIN)
    at = next(i for i, segment in enumerate(segments) if segment.marker in FRAMES)
    payload = segments[at].payload or b""
    damaged = []
    for position in range(len(payload)):
        for value in (0, 1, 2, 3, 4, 5, 0x11, 0x12, 0x21, 0x22, 0x41, 0x44, 0x51, 0xF1, 0xFF):
            changed = payload[:position] + bytes([value]) + payload[position + 1 :]
            damaged.append(put_together([*segments[:at], Segment(segments[at].marker, changed), *segments[at + 1 :]]))
    assert judge(damaged) == []


def test_damage_in_subsampled_tiles_never_leaves_the_bounds_of_libjpeg_turbo():
    """Chroma is enlarged differently here, so the comparison is in the mean; wild pixels would not pass."""
    random = np.random.default_rng(3)
    start = SUBSAMPLED.index(b"\xff\xda")
    healthy = np.frombuffer(SUBSAMPLED, np.uint8)
    for _ in range(300):
        copy = healthy.copy()
        copy[int(random.integers(start + 14, len(copy) - 2))] ^= 1 << int(random.integers(8))
        damaged = copy.tobytes()
        decoded = decode([damaged], sizes=np.array([[64, 48]]))
        if decoded.status.get(0) in NO_PIXELS:
            continue
        theirs = djpeg(damaged)
        assert theirs is not None
        assert np.abs(theirs.astype(int) - decoded.pixels[0]).mean() <= 1.5


def test_damaged_neighbours_leave_a_healthy_sample_alone():
    expected = decode_one(TILED)
    random = np.random.default_rng(4)
    healthy = np.frombuffer(TILED, np.uint8)
    for _ in range(50):
        batch = []
        for position in range(9):
            copy = healthy.copy()
            if position % 2 == 0:
                copy[random.integers(0, len(copy), 5)] = random.integers(0, 256, 5)
            batch.append(copy.tobytes())
        decoded = decode(batch, sizes=np.tile([WIDTH, HEIGHT], (9, 1)))
        for position in (1, 3, 5, 7):
            assert position not in decoded.status
            assert np.array_equal(decoded.pixels[position], expected)


@pytest.mark.parametrize("kind", HEALTHY)
def test_tiling_damaged_files_gives_them_back_or_gives_the_same_picture(kind):
    data = np.frombuffer(HEALTHY[kind], np.uint8)
    random = np.random.default_rng(5)
    for _ in range(400):
        copy = data.copy()
        copy[int(random.integers(len(copy)))] ^= 1 << int(random.integers(8))
        damaged = copy.tobytes()
        tiled, outcome = _native.tile_jpeg(damaged)
        if outcome != "tiled":
            assert tiled == damaged
            continue
        before, after = djpeg(damaged), djpeg(tiled)
        assert before is not None
        assert np.array_equal(before, after)


def test_a_scan_repeated_without_end_comes_to_an_end():
    """Each scan of a progressive file costs a pass over the whole image; a small file can hold thousands."""
    segments = take_apart(cjpeg(photo(512, 512), quality=10, options=["-progressive"]))
    last = max(i for i, segment in enumerate(segments) if segment.marker == SOS)
    empty = Segment(SOS, segments[last].payload, b"")
    bomb = put_together([*segments[:-1], *[empty] * 3000, segments[-1]])
    decoded = decode([bomb], size=(32, 32))
    assert decoded.status[0] in (_native.WARNED, _native.BROKEN)


def strange(name):
    """A whole file that libjpeg-turbo does not take without a word, or takes otherwise than one might think."""
    parts = take_apart(PLAIN)
    others = [part for part in parts if part.marker != 0xE0]
    adobe = Segment(0xEE, b"Adobe" + bytes([0, 100, 0, 0, 0, 0, 2]))
    return {
        "a second scan": put_together([*parts[:-1], *parts[-2:]]),
        "an unknown marker at the end": put_together([*parts[:-1], Segment(0x02, None, b"junk")]),
        "an unknown Adobe transform": put_together([others[0], adobe, *others[1:]]),
        "a JFIF segment cut short": put_together([others[0], Segment(0xE0, b"JFIF\0"), *others[1:]]),
    }[name]


@pytest.mark.parametrize(
    "name",
    ["a second scan", "an unknown marker at the end", "an unknown Adobe transform", "a JFIF segment cut short"],
)
def test_strange_files_mean_what_libjpeg_turbo_says(name):
    data = strange(name)
    complaint = subprocess.run(["djpeg"], input=data, capture_output=True, check=False).stderr
    decoded = decode([data], sizes=np.array([[WIDTH, HEIGHT]]))
    assert bool(decoded.status) == bool(complaint), (complaint, decoded.messages)
    assert judge([data]) == []
