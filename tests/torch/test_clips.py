"""Tensors of clips: the arrays, in torch's layouts; transforms that are not ours see videos as torchvision does."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import penstock.torch
from penstock.loader import Loader as ArrayLoader
from penstock.transforms import (
    CenterCrop,
    ClipSample,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
)
from tests.clip_datasets import COUNTS, records, write_dataset
from tests.stand_ins import stand_in

MOVES = (RandomResizedCrop(24), RandomHorizontalFlip())
MEANS, STDS = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
FLOATS = (ToDtype(torch.float32, scale=True), Normalize(MEANS, STDS))
CHANNELS = {"CTHW": 1, "TCHW": 2}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("clips") / "clips.pen", records())


def tensors(clips, *moves, layout="CTHW", **options):
    transforms = [ClipSample(5, 2, layout=layout), *(moves or MOVES)]
    with penstock.torch.Loader(clips, batch_size=4, transforms=transforms, seed=4, **options) as loader:
        return list(loader)


def arrays(clips, *moves, layout="CTHW", **options):
    transforms = [ClipSample(5, 2, layout=layout), *(moves or MOVES)]
    with ArrayLoader(clips, batch_size=4, transforms=transforms, seed=4, **options) as loader:
        return list(loader)


@pytest.mark.parametrize("layout", CHANNELS)
@pytest.mark.parametrize("device", [None, "cpu"])
def test_tensors_are_the_arrays(clips, layout, device):
    for batch, expected in zip(tensors(clips, layout=layout, device=device), arrays(clips, layout=layout), strict=True):
        assert batch.images.is_contiguous()
        assert batch.images.dtype == torch.uint8
        assert np.array_equal(batch.images.numpy(), expected.images)
        assert batch.labels.tolist() == expected.labels.tolist()


def test_channels_last_is_a_layout_and_not_a_shape(clips):
    for layout in CHANNELS:
        found = tensors(clips, layout=layout, memory_format=torch.channels_last)
        for batch, expected in zip(found, arrays(clips, layout=layout), strict=True):
            assert np.array_equal(batch.images.numpy(), expected.images)
            if layout == "CTHW":
                assert batch.images.is_contiguous(memory_format=torch.channels_last_3d)


@pytest.mark.parametrize("layout", CHANNELS)
@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, {"memory_format": torch.channels_last, "device": "cpu"}])
def test_values_are_normalised_along_the_channels(clips, layout, options):
    shape = [1] * 5
    shape[CHANNELS[layout]] = 3
    means, stds = (torch.tensor(numbers).reshape(shape) for numbers in (MEANS, STDS))
    for batch, plain in zip(
        tensors(clips, *MOVES, *FLOATS, layout=layout, **options), tensors(clips, layout=layout), strict=True
    ):
        assert batch.images.dtype == torch.float32
        assert torch.allclose(batch.images, (plain.images.float() / 255 - means) / stds, atol=1e-5)


@pytest.mark.parametrize("layout", CHANNELS)
@pytest.mark.parametrize("name", ["Grayscale", "ColorJitter"])
def test_a_foreign_transform_sees_frames_before_channels_and_one_call_serves_a_clip(clips, layout, name):
    seen = []

    def darker(video):
        seen.append(tuple(video.shape))
        return (video * torch.rand(())).to(torch.uint8) if name == "ColorJitter" else video // 2

    found = tensors(clips, *MOVES, stand_in(name, darker), layout=layout)
    per_call = (5, 3, 24, 24)
    assert set(seen) == ({(4, *per_call), (3, *per_call)} if name == "Grayscale" else {per_call})
    for batch, plain in zip(found, tensors(clips, layout=layout), strict=True):
        assert batch.images.shape == plain.images.shape
        assert batch.images.is_contiguous()
        if name == "Grayscale":
            assert torch.equal(batch.images, plain.images // 2)
    again = tensors(clips, *MOVES, stand_in(name, darker), layout=layout)
    assert all(torch.equal(one.images, other.images) for one, other in zip(found, again, strict=True))


def test_values_after_a_foreign_transform_keep_their_place(clips):
    after = tensors(clips, *MOVES, stand_in("Grayscale", lambda video: video), *FLOATS)
    for batch, plain in zip(after, tensors(clips, *MOVES, *FLOATS), strict=True):
        assert torch.allclose(batch.images, plain.images, atol=1e-5)


@pytest.mark.parametrize("layout", CHANNELS)
@pytest.mark.parametrize("options", [{}, {"memory_format": torch.channels_last, "threads": 0}, {"device": "cpu"}])
def test_a_foreign_transform_may_be_the_one_that_fixes_the_size(clips, layout, options):
    def top_left(video):
        assert video.shape[-3] == 3
        return video[..., :24, :24]

    crop = stand_in(
        "RandomCrop", top_left, size=(24, 24), padding=None, pad_if_needed=False, fill=0, padding_mode="edge"
    )
    found = tensors(clips, Resize(30), crop, layout=layout, **options)
    with ArrayLoader(clips, batch_size=1, transforms=[ClipSample(5, 2, layout=layout), Resize((30, 40))]) as loader:
        alone = loader.load([0]).images[0]  # 64x48 becomes 40x30
    assert sum(len(batch.ids) for batch in found) == len(COUNTS)
    for batch in found:
        assert batch.images.shape[1:] == ((3, 5, 24, 24) if layout == "CTHW" else (5, 3, 24, 24))
        for number, clip in zip(batch.ids.tolist(), batch.images, strict=True):
            if number == 0:
                epoch_0 = torch.from_numpy(alone.copy())[..., :24, :24]
                assert torch.equal(clip, epoch_0)


@pytest.mark.parametrize("layout", CHANNELS)
def test_transforms_that_mix_samples_mix_all_frames_alike(clips, layout):
    def mix(images, labels):
        assert images.ndim == 4
        return images.roll(1, 0), labels.roll(1)

    for batch, plain in zip(
        tensors(clips, *MOVES, stand_in("MixUp", mix), layout=layout), tensors(clips, layout=layout), strict=True
    ):
        assert torch.equal(batch.images, plain.images.roll(1, 0))
        assert torch.equal(batch.labels, plain.labels.roll(1))


def test_a_batch_that_lost_all_its_clips_passes_every_transform(tmp_path):
    samples = records([3, 3])
    for record in samples:
        field = record.fields["clip"]
        record.fields["clip"] = type(field)(b"x" * len(field.data), "mjpeg", 1, 1, frames=field.frames)
    root = write_dataset(tmp_path / "lost.pen", samples)
    jitter, crop = (stand_in(name, lambda video: video) for name in ("ColorJitter", "RandomRotation"))
    for moves in ([CenterCrop(20), jitter], [crop]):
        with penstock.torch.Loader(root, batch_size=2, transforms=moves, on_error="skip") as loader:
            (batch,) = loader
            assert batch.images.shape[0] == 0
            assert batch.images.ndim == 5
            assert loader.statistics().skipped == {"ImageError": 2}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_under_a_data_loader_gives_the_loaders_pixels(clips, workers):
    dataset = penstock.torch.Dataset(clips, transforms=[ClipSample(5, 2), *MOVES], seed=4)
    batches = DataLoader(
        dataset, batch_size=4, num_workers=workers, multiprocessing_context="spawn" if workers else None
    )
    for (images, labels), expected in zip(batches, arrays(clips, shuffle=False), strict=True):
        assert np.array_equal(images.numpy(), expected.images)
        assert np.array_equal(labels.numpy(), expected.labels)
