"""One sample's clip: whole, a slice of it, some frames; what Pillow makes of the stored bytes."""

import io

import gulpio2
import numpy as np
import pytest
from PIL import Image

import penstock
from penstock.errors import ChecksumError, ImageError, UsageError
from penstock.sample import Sample
from penstock.types import StoredField
from tests import gulps
from tests.clip_datasets import COUNTS, SIZES, clip_field, frames, records, untouched, write_dataset
from tests.datasets import packed
from tests.images import jpeg, photo


@pytest.fixture(scope="module", params=["packed", "untouched"])
def opened(request, tmp_path_factory):
    root = tmp_path_factory.mktemp(request.param) / "clips"
    return untouched(root, records()) if request.param == "untouched" else penstock.open(write_dataset(root, records()))


def by_pillow(encoded):
    return np.stack([np.asarray(Image.open(io.BytesIO(one)).convert("RGB")) for one in encoded])


def test_a_sample_has_its_clip_whole(opened):
    for number in (0, 3, 6):
        sample = opened[number]
        stored = sample.fields["clip"]
        assert (stored.format, stored.width, stored.height) == ("mjpeg", *SIZES[number % len(SIZES)])
        assert stored.data == b"".join(frames(number))
        assert stored.frames == tuple(map(len, frames(number)))
        assert np.array_equal(sample.clip(), by_pillow(frames(number)))


@pytest.mark.parametrize(
    "which", [slice(3, 20, 2), slice(None, None, -1), slice(-4, None), slice(10, 999), [0, 4, 8], [-1, 2, 2], (5,)]
)
def test_some_frames_are_what_python_would_choose(opened, which):
    encoded = frames(1)
    expected = encoded[which] if isinstance(which, slice) else [encoded[at] for at in which]
    sample = opened[1, which]
    assert sample.fields["clip"].data == b"".join(expected)
    assert sample.labels == {"label": 1}
    assert np.array_equal(sample.clip(), by_pillow(expected))
    assert np.array_equal(opened[1 - len(COUNTS), np.arange(3)].clip(), by_pillow(encoded[:3]))


def test_a_slice_beyond_the_clip_has_no_frames(opened):
    assert opened[3, 5:9].clip().shape[0] == 0
    assert opened[3, []].fields["clip"].data == b""


def test_frames_that_are_not_there_are_named(opened):
    for which in ([0, 2], [-3]):
        with pytest.raises(UsageError, match=r"no such frame: got (2|-3), expected -2 to 1 \(sample 0003\)"):
            opened[3, which]
    for which in (4, [0.5], [[1]], "all"):
        with pytest.raises(UsageError, match="frames are chosen by their numbers"):
            opened[3, which]
    with pytest.raises(IndexError):
        opened[11, [0]]
    with pytest.raises(UsageError, match="select"):
        opened[1, [0], [0]]


def test_only_clips_have_frames_to_choose():
    photos = penstock.open(packed())
    with pytest.raises(UsageError, match="no clips to choose frames of"):
        photos[0, 1:3]
    with pytest.raises(UsageError, match="no such field"):
        photos[0].clip()
    with pytest.raises(UsageError, match="this field is no clip"):
        photos[0].clip("image")


def test_damage_is_found_in_the_frame_that_has_it(tmp_path):
    root = write_dataset(tmp_path / "c.pen", records([5]))
    shard = root / "shards" / "000000.tar"
    data, start = bytearray(shard.read_bytes()), int(penstock.open(root).column("clip").offset[0])
    begin = start + sum(map(len, frames(0)[:3]))
    data[begin + 50] ^= 1
    shard.write_bytes(data)
    found = penstock.open(root)
    assert np.array_equal(found[0, [0, 1, 4]].clip(), by_pillow([frames(0)[at] for at in (0, 1, 4)]))
    where = f"sample 0000, frame 3, file shards/000000.tar, bytes {begin}-{begin + len(frames(0)[3])}"
    with pytest.raises(ChecksumError, match=where):
        found[0, 2:]
    with pytest.raises(ChecksumError, match=r"checksum differs: got \w{8}, expected \w{8} \(sample 0000, file"):
        found[0]


def test_a_frame_that_cannot_be_decoded_is_named():
    encoded = [jpeg(photo(16, 16)), b"\xff\xd8\xff broken"]
    with pytest.raises(ImageError, match="frame 1"):
        Sample(0, "one", {"clip": clip_field(encoded, (16, 16))}, {}).clip()
    encoded[1] = jpeg(photo(24, 16))
    with pytest.raises(ImageError, match="another size than its clip: got 24x16, expected 16x16"):
        Sample(0, "one", {"clip": clip_field(encoded, (16, 16))}, {}).clip()


def test_an_unreadable_untouched_clip_is_given_as_it_is(tmp_path):
    samples = records([2])
    samples[0].fields["clip"] = StoredField(b"nothing ", "mjpeg", 1, 1, frames=(8,))
    stored = untouched(tmp_path / "raw", samples)[0].fields["clip"]
    assert (stored.format, stored.data) == ("unknown", b"nothing ")


def test_frames_of_a_gulp_directory_are_those_that_gulpio2_gives(tmp_path):
    folder = gulps.written_by_gulpio2(tmp_path / "gulp", range(5), 2, frames=9)
    theirs, opened = gulpio2.GulpDirectory(str(folder)), penstock.open(folder)
    for number in range(5):
        for which in (slice(None), slice(2, 8, 3), slice(5, 99), [0, 4, 8]):
            sample = opened[number, which]
            expected = np.stack(theirs[sample.key, which][0]).astype(int)
            assert sample.clip().shape == expected.shape
            assert np.abs(sample.clip() - expected).mean() < 2  # theirs uses a faster, less exact transform
