"""Batches of clips: frame for frame what the same images would be, read no further than needed, errors by frame."""

from __future__ import annotations

import io
import shutil
from functools import cache

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock.decode.batch import BatchDecoder, Encoded, Expected
from penstock.errors import ChecksumError, FormatError, ImageError, UsageError
from penstock.loader import Loader, Tuning
from penstock.order import Draws, WindowShuffle
from penstock.transforms import (
    CenterCrop,
    ClipSample,
    Normalize,
    Plan,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
)
from penstock.types import Column
from tests import gulps
from tests.clip_datasets import COUNTS, SIZES, clip_field, frames, records, untouched, write_dataset
from tests.images import jpeg, photo

MOVES = (RandomResizedCrop(24), RandomHorizontalFlip())
SAMPLE = ClipSample(5, 2)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("clips") / "clips.pen", records())


@pytest.fixture(scope="module")
def even(tmp_path_factory):
    """Clips of four frames each."""
    return write_dataset(tmp_path_factory.mktemp("even") / "even.pen", records([4] * 7))


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two clips in each sample."""
    return write_dataset(tmp_path_factory.mktemp("two") / "two.pen", records(fields=("clip", "flow_clip")))


@cache
def as_images(number: int, seed: int, epoch: int, sample: ClipSample = SAMPLE) -> np.ndarray:
    """What the image path makes of the frames that a sample shows: [T, C, H, W]."""
    ids, size = np.array([number]), SIZES[number % len(SIZES)]
    draws = Draws.of(seed, epoch, ids)
    shown = sample.choose(np.array([COUNTS[number]]), draws)[0].tolist()
    data = [frames(number)[at] for at in shown]
    geometry = Plan(MOVES).geometry(np.array([size[0]], np.int32), np.array([size[1]], np.int32), draws)
    lengths = np.array([len(one) for one in data])
    column = Column(
        file=np.zeros(1, np.int32), offset=np.zeros(1, np.int64), length=lengths[:1], crc32c=None,
        format=np.zeros(1, np.uint8), width=np.array([size[0]], np.int32), height=np.array([size[1]], np.int32),
        formats=("jpeg",),
    )  # fmt: skip
    decoder, found = BatchDecoder(0), []
    for one in data:
        out = np.empty((1, 3, 24, 24), np.uint8)
        encoded = Encoded(
            Expected.of(column, np.zeros(1, np.int64)),
            np.frombuffer(one, np.uint8),
            np.zeros(1, np.int64),
            np.array([len(one)]),
        )
        assert decoder.decode(encoded, geometry, out).errors == {}
        found.append(out[0])
    return np.stack(found)


WINDOWS = WindowShuffle(window_bytes=40_000, block_bytes=9_000, lanes=2)


@pytest.mark.parametrize("shuffle", ["full", False, WINDOWS])
@pytest.mark.parametrize("threads", [0, 3])
def test_a_clip_is_the_batch_of_its_frames_as_images(clips, shuffle, threads):
    with Loader(clips, batch_size=4, transforms=[SAMPLE, *MOVES], shuffle=shuffle, seed=3, threads=threads) as loader:
        for epoch in range(2):
            seen = []
            for batch in loader:
                assert batch.images.shape == (len(batch.ids), 3, 5, 24, 24)
                assert batch.images.dtype == np.uint8
                assert batch.labels.tolist() == [number % 5 for number in batch.ids.tolist()]
                for number, clip in zip(batch.ids.tolist(), batch.images, strict=True):
                    assert np.array_equal(clip.transpose(1, 0, 2, 3), as_images(number, 3, epoch))
                    seen.append(number)
            assert sorted(seen) == list(range(len(COUNTS)))
        assert loader.statistics().samples == len(COUNTS)


def test_the_frames_are_those_of_the_file_as_pillow_sees_them(clips):
    with Loader(clips, batch_size=3, transforms=[ClipSample(4, 3, start=2), CenterCrop(32)], shuffle=False) as loader:
        for number, clip in enumerate(np.concatenate([batch.images for batch in loader])):
            count = COUNTS[number]
            first = min(2, max(count - 12, 0))
            for at in range(4):
                picture = Image.open(io.BytesIO(frames(number)[min(first + 3 * at, count - 1)])).convert("RGB")
                left, top = round((picture.width - 32) / 2), round((picture.height - 32) / 2)
                oracle = np.asarray(picture.crop((left, top, left + 32, top + 32))).astype(int)
                assert np.abs(clip[:, at].transpose(1, 2, 0) - oracle).mean() < 0.6


def test_layouts_hold_the_same_pixels(clips):
    def loaded(layout="CTHW", **options):
        with Loader(clips, batch_size=11, transforms=[ClipSample(5, 2, layout=layout), *MOVES], **options) as loader:
            return next(iter(loader)).images

    reference = loaded()
    assert np.array_equal(loaded("TCHW"), reference.transpose(0, 2, 1, 3, 4))
    for layout in ("CTHW", "TCHW"):
        assert np.array_equal(loaded(layout, channels_first=False), reference.transpose(0, 2, 3, 4, 1))


def test_values_are_normalised_along_the_channels_in_every_layout(clips):
    means, stds = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
    values = [ToDtype("float32", scale=True), Normalize(means, stds)]
    for layout, axis, options in (("CTHW", 1, {}), ("TCHW", 2, {}), ("CTHW", 4, {"channels_first": False})):
        sample = ClipSample(5, 2, layout=layout)
        with Loader(clips, batch_size=11, transforms=[sample, *MOVES, *values], **options) as loader:
            found = next(iter(loader)).images
        with Loader(clips, batch_size=11, transforms=[sample, *MOVES], **options) as loader:
            pixels = np.moveaxis(next(iter(loader)).images, axis, -1)
        expected = (pixels / 255 - means) / stds
        assert found.dtype == np.float32
        assert np.allclose(np.moveaxis(found, axis, -1), expected, atol=1e-5)


def test_clips_of_as_many_frames_need_no_choice_and_others_are_told_the_remedy(clips, even):
    with Loader(even, batch_size=7, transforms=MOVES, shuffle=False) as loader:
        whole = loader.load(range(7)).images
    with Loader(even, batch_size=7, transforms=[ClipSample(4, 1), *MOVES], shuffle=False) as loader:
        assert np.array_equal(whole, loader.load(range(7)).images)
    assert whole.shape == (7, 3, 4, 24, 24)
    with pytest.raises(UsageError, match=r"differ in how many frames they have: got 1 to 50(?s:.)*ClipSample"):
        Loader(clips, batch_size=2, transforms=MOVES)


def test_all_clips_of_a_sample_show_the_same_frames_through_the_same_crop(two):
    with Loader(two, batch_size=11, transforms=[SAMPLE, *MOVES], seed=3, shuffle=False) as loader:
        batch = next(iter(loader))
        other = loader.load(range(11))
    assert list(batch) == ["clip", "flow_clip", "label"]
    for number in range(11):
        assert np.array_equal(batch["clip"][number].transpose(1, 0, 2, 3), as_images(number, 3, 0))
    assert batch["flow_clip"].shape == batch["clip"].shape
    assert np.array_equal(batch["flow_clip"], other["flow_clip"])
    with Loader(two, batch_size=11, transforms=[SAMPLE, *MOVES], fields=["flow_clip", "label"], seed=3) as loader:
        assert np.array_equal(loader.load(range(11)).images, batch["flow_clip"])


def test_images_have_no_frames_to_choose(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.jpg").write_bytes(jpeg(photo(40, 40)))
    with pytest.raises(UsageError, match="none of the fields holds clips"):
        Loader(tmp_path, batch_size=1, transforms=[ClipSample()])


def test_clips_and_images_are_not_in_one_batch(tmp_path):
    samples = records([3, 3])
    for record in samples:
        picture = photo(*SIZES[0])
        record.fields["image"] = penstock.types.StoredField(jpeg(picture), "jpeg", *SIZES[0])
    root = write_dataset(tmp_path / "both.pen", samples)
    with pytest.raises(UsageError, match=r"(?s)cannot be in one batch.*fields=\['clip', 'label'\]"):
        Loader(root, batch_size=1, transforms=MOVES)
    with Loader(root, batch_size=2, transforms=MOVES, fields=["clip", "label"]) as loader:
        assert loader.load([0, 1]).images.shape == (2, 3, 3, 24, 24)


def test_only_the_frames_that_are_shown_are_read(tmp_path):
    big = records([60, 60, 60])
    noise = np.random.default_rng(0).integers(0, 255, (200, 200, 3), dtype=np.uint8)
    picture = jpeg(noise, quality=95)
    for record in big:
        record.fields["clip"] = penstock.types.StoredField(picture * 60, "mjpeg", 200, 200, frames=(len(picture),) * 60)
    root = write_dataset(tmp_path / "big.pen", big)
    assert len(picture) > 20_000
    for shuffle in (False, WindowShuffle(window_bytes=10**7, lanes=1)):
        with Loader(root, batch_size=3, transforms=[ClipSample(4, 10), CenterCrop(64)], shuffle=shuffle) as loader:
            list(loader)
            told = loader.statistics()
        assert told.read_bytes == 3 * 4 * len(picture)
        assert told.requested_bytes <= told.read_bytes + 12 * 8192
        assert told.requests == 12


def damaged(root, tmp_path, number, at):
    """A copy in which one byte of one frame is another."""
    copy = tmp_path / "damaged.pen"
    shutil.copytree(root, copy)
    opened = penstock.open(copy)
    column = opened.column("clip")
    row = int(column.frames.first[number]) + at
    place = int(column.offset[number] + column.frames.offset[row])
    path = copy / opened.index.column("file").to_pylist()[number]
    data = bytearray(path.read_bytes())
    data[place + int(column.frames.length[row]) // 2] ^= 0xFF
    path.write_bytes(data)
    return copy, (place, place + int(column.frames.length[row])), path.name


@pytest.mark.parametrize("shuffle", [False, WINDOWS])
def test_a_damaged_frame_is_an_error_that_names_sample_frame_and_bytes(clips, tmp_path, shuffle):
    copy, where, shard = damaged(clips, tmp_path, 1, 4)
    options = {"batch_size": 4, "transforms": [ClipSample(5, 2, start=0), *MOVES], "shuffle": shuffle}
    with Loader(copy, **options) as loader, pytest.raises(ChecksumError) as caught:
        list(loader)
    assert f"(sample 0001, frame 4, file shards/{shard}, bytes {where[0]}-{where[1]})" in str(caught.value)
    with Loader(copy, **options, on_error="skip") as loader:
        ids = np.concatenate([batch.ids for batch in loader])
        told = loader.statistics()
    assert sorted(ids.tolist()) == [number for number in range(len(COUNTS)) if number != 1]
    assert [(error.sample, error.frame, error.byte_range) for error in told.errors] == [("0001", 4, where)]
    assert told.skipped == {"ChecksumError": 1}


def test_frames_that_are_not_shown_may_be_damaged(clips, tmp_path):
    copy, _, _ = damaged(clips, tmp_path, 1, 3)  # start 0, stride 2: never read
    with Loader(copy, batch_size=4, transforms=[ClipSample(5, 2, start=0), *MOVES]) as loader:
        assert sum(len(batch.ids) for batch in loader) == len(COUNTS)


def test_without_verification_the_decoder_says_what_it_finds(clips, tmp_path):
    copy, _, _ = damaged(clips, tmp_path, 1, 4)
    with Loader(
        copy, batch_size=4, transforms=[ClipSample(5, 2, start=0), *MOVES], on_error="skip",
        tuning=Tuning(verify=False),
    ) as loader:  # fmt: skip
        assert sum(len(batch.ids) for batch in loader) >= len(COUNTS) - 1


def test_a_frame_of_another_size_is_an_error_of_its_sample(tmp_path):
    samples = records([4, 4])
    encoded = [jpeg(photo(40, 30, seed=at)) for at in range(3)] + [jpeg(photo(44, 30))]
    samples[1].fields["clip"] = penstock.types.StoredField(
        b"".join(encoded), "mjpeg", 40, 30, frames=tuple(map(len, encoded))
    )
    root = write_dataset(tmp_path / "odd.pen", samples)
    with Loader(root, batch_size=2, transforms=MOVES, on_error="skip") as loader:
        (batch,) = loader
        told = loader.statistics()
    assert batch.ids.tolist() == [0]
    assert told.skipped == {"ImageError": 1}
    with Loader(root, batch_size=2, transforms=MOVES) as loader, pytest.raises(ImageError, match="frame 3") as caught:
        list(loader)
    assert "size got 44x30, expected 40x30" in str(caught.value)


def test_frames_that_only_pillow_can_decode_find_their_places(tmp_path):
    samples = records([4, 4])
    cmyk = []
    for at in range(4):
        sink = io.BytesIO()
        Image.fromarray(photo(*SIZES[1], seed=at)).convert("CMYK").save(sink, "JPEG", quality=95)
        cmyk.append(sink.getvalue())
    mixed = [frames(1, 4)[0], cmyk[1], frames(1, 4)[2], cmyk[3]]
    samples[1].fields["clip"] = penstock.types.StoredField(
        b"".join(mixed), "mjpeg", *SIZES[1], frames=tuple(map(len, mixed))
    )
    root = write_dataset(tmp_path / "cmyk.pen", samples)
    found = {}
    for layout in ("CTHW", "TCHW"):
        with Loader(root, batch_size=2, transforms=[ClipSample(4, 1, layout=layout), CenterCrop(32)]) as loader:
            found[layout] = loader.load([0, 1]).images
    assert np.array_equal(found["CTHW"], found["TCHW"].transpose(0, 2, 1, 3, 4))
    for at, data in enumerate(mixed):
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        left, top = round((picture.width - 32) / 2), round((picture.height - 32) / 2)
        oracle = np.asarray(picture.crop((left, top, left + 32, top + 32))).astype(int)
        assert np.abs(found["CTHW"][1, :, at].transpose(1, 2, 0) - oracle).mean() < 0.6


def test_sizes_that_differ_until_a_later_transform_are_refused_as_those_of_images_are(clips):
    with pytest.raises(UsageError, match="differ in size"):
        Loader(clips, batch_size=2, transforms=[SAMPLE, Resize(20)])


def test_memory_is_planned_for_frames(clips):
    def depth(**options):
        with Loader(clips, batch_size=4, transforms=[SAMPLE, *MOVES], **options) as loader:
            assert sum(len(batch.ids) for batch in loader) == len(COUNTS)
            return repr(loader)

    assert "depth" in depth(memory=3_000_000)
    with pytest.raises(UsageError, match="the memory budget is too small"):
        depth(memory=100_000)


def test_a_view_and_a_join_have_the_frames_of_their_samples(clips, tmp_path):
    opened = penstock.open(clips)
    view = opened.select([5, 1, 9])
    with Loader(view, batch_size=3, transforms=[ClipSample(5, 2, start=1), CenterCrop(24)]) as loader:
        some = loader.load([0, 1, 2]).images
    with Loader(opened, batch_size=3, transforms=[ClipSample(5, 2, start=1), CenterCrop(24)]) as loader:
        assert np.array_equal(some, loader.load([5, 1, 9]).images)
    other = write_dataset(tmp_path / "other.pen", records([6, 8]))
    joined = penstock.join([clips, other])
    with Loader(joined, batch_size=2, transforms=[ClipSample(5, 2, start=1), CenterCrop(24)]) as loader:
        assert np.array_equal(loader.load([5, 1]).images, some[:2])
        assert sum(len(batch.ids) for batch in loader) == 13


def test_a_run_resumes_where_it_stopped(clips):
    def loader():
        return Loader(clips, batch_size=2, transforms=[SAMPLE, *MOVES], seed=5)

    with loader() as first:
        batches = iter(first)
        for _ in range(3):
            next(batches)
        state = first.state_dict()
        rest = [(batch.ids.tolist(), batch.images.copy()) for batch in batches]
    with loader() as second:
        second.load_state_dict(state)
        again = [(batch.ids.tolist(), batch.images.copy()) for batch in second]
    assert [ids for ids, _ in again] == [ids for ids, _ in rest]
    assert all(np.array_equal(one, other) for (_, one), (_, other) in zip(again, rest, strict=True))


def test_an_index_whose_frames_leave_their_clip_is_refused(tmp_path):
    samples = records([3])
    field = samples[0].fields["clip"]
    wrong = (*field.frames[:2], field.frames[2] + 5)
    samples[0].fields["clip"] = penstock.types.StoredField(field.data, "mjpeg", field.width, field.height, frames=wrong)
    root = write_dataset(tmp_path / "wrong.pen", samples)
    with pytest.raises(FormatError, match="a frame lies outside its clip"):
        Loader(root, batch_size=1, transforms=MOVES)


@pytest.mark.parametrize("shuffle", ["full", WINDOWS])
def test_untouched_clips_whose_sizes_nobody_knows_are_loaded_like_packed_ones(clips, tmp_path, shuffle):
    opened = untouched(tmp_path / "raw", records())
    with Loader(opened, batch_size=4, transforms=[SAMPLE, *MOVES], shuffle=shuffle, seed=3) as loader:
        seen = {number: clip for batch in loader for number, clip in zip(batch.ids.tolist(), batch.images, strict=True)}
    assert sorted(seen) == list(range(len(COUNTS)))
    for number, clip in seen.items():
        assert np.array_equal(clip.transpose(1, 0, 2, 3), as_images(number, 3, 0))
    with pytest.raises(UsageError, match="do not fix the size"):
        Loader(opened, batch_size=4, transforms=[SAMPLE, Resize(20)])


def test_of_untouched_clips_the_first_frame_that_is_shown_says_the_size(tmp_path):
    samples = records([4, 4, 4])
    odd = [jpeg(photo(44, 30)), *(jpeg(photo(40, 30, seed=at)) for at in range(3))]
    samples[1].fields["clip"] = clip_field(odd, (40, 30))
    samples[2].fields["clip"] = clip_field([b"no image", *frames(2, 4)[1:]], SIZES[2])
    opened = untouched(tmp_path / "raw", samples)
    options = {"batch_size": 3, "shuffle": False, "on_error": "skip"}
    with Loader(opened, transforms=[ClipSample(4, 1), *MOVES], **options) as loader:
        (batch,) = loader
        told = loader.statistics()
    assert batch.ids.tolist() == [0]
    assert [(error.sample, error.frame) for error in told.errors] == [("0001", 1), ("0002", 0)]
    with Loader(opened, transforms=[ClipSample(2, 1, start=1), *MOVES], **options) as loader:
        assert loader.load([0, 1, 2]).ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize("shuffle", ["full", "window", False])
def test_a_gulp_directory_is_loaded_in_place(tmp_path, shuffle):
    opened = penstock.open(gulps.written_by_gulpio2(tmp_path / "gulp", range(7), 3, frames=9))
    clips = [field for field in opened.fields if field.endswith("clip")]
    assert clips == ["clip"]
    sample = ClipSample(4, 2, start=1)
    with Loader(opened, batch_size=3, transforms=[sample, CenterCrop(24)], fields=clips, shuffle=shuffle) as loader:
        found = {
            number: clip for batch in loader for number, clip in zip(batch.ids.tolist(), batch["clip"], strict=True)
        }
    assert sorted(found) == list(range(7))
    for number, clip in found.items():
        whole = opened[number, 1:8:2].clip()
        top, left = (round((side - 24) / 2) for side in whole.shape[1:3])
        oracle = whole[:, top : top + 24, left : left + 24].astype(int)
        assert np.abs(clip.transpose(1, 2, 3, 0) - oracle).mean() < 0.6
