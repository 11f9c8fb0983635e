"""Tensors: the loader's batches as they are, moved, transformed further."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import penstock.torch
from penstock.errors import UsageError
from penstock.loader import Loader as ArrayLoader
from penstock.transforms import Normalize, RandomHorizontalFlip, RandomResizedCrop, Resize, ToDtype
from penstock.types import Batch, Pair
from tests.datasets import COUNT, labelled, masked, packed
from tests.images import jpeg, photo
from tests.stand_ins import stand_in

AUGMENT = (RandomResizedCrop(32), RandomHorizontalFlip())
FLOATS = (ToDtype(torch.float32, scale=True), Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]))


def arrays(transforms=AUGMENT, **options):
    with ArrayLoader(packed(), batch_size=10, transforms=transforms, **options) as loader:
        return list(loader)


def tensors(transforms=AUGMENT, **options):
    with penstock.torch.Loader(packed(), batch_size=10, transforms=transforms, **options) as loader:
        assert len(loader) == 5
        return list(loader)


@pytest.mark.parametrize("device", [None, "cpu", torch.device("cpu")])
def test_tensors_are_the_arrays(device):
    for batch, expected in zip(tensors(device=device, seed=4), arrays(seed=4), strict=True):
        assert isinstance(batch, Pair)
        images, labels = batch
        assert (images.dtype, labels.dtype) == (torch.uint8, torch.int64)
        assert images.is_contiguous()
        assert np.array_equal(images.numpy(), expected.images)
        assert np.array_equal(labels.numpy(), expected.labels)
        assert np.array_equal(batch.ids, expected.ids)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_values_are_the_same_wherever_they_are_computed(device):
    for batch, plain in zip(tensors((*AUGMENT, *FLOATS), device=device), arrays(), strict=True):
        expected = (
            torch.from_numpy(plain.images.copy()).float() / 255 - torch.tensor([0.5, 0.4, 0.3]).reshape(3, 1, 1)
        ) / (torch.tensor([0.2, 0.3, 0.4]).reshape(3, 1, 1))
        assert batch.images.dtype == torch.float32
        assert torch.allclose(batch.images, expected, atol=1e-5)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_bfloat16_is_computed_by_torch(device):
    (first, *_) = tensors((*AUGMENT, ToDtype(torch.bfloat16, scale=True)), device=device)
    assert first.images.dtype == torch.bfloat16
    assert 0 <= first.images.min() <= first.images.max() <= 1


def test_channels_last_is_a_layout_and_not_a_shape():
    for batch, expected in zip(tensors(memory_format=torch.channels_last), arrays(), strict=True):
        assert batch.images.shape[1:] == (3, 32, 32)
        assert batch.images.is_contiguous(memory_format=torch.channels_last)
        assert np.array_equal(batch.images.numpy(), expected.images)


def test_kept_tensors_keep_their_pixels_and_dropped_ones_give_their_memory_back():
    with penstock.torch.Loader(packed(), batch_size=2, transforms=AUGMENT, memory=400_000) as loader:
        kept = list(loader)
        copies = [batch.images.clone() for batch in kept]
        places = {batch.images.data_ptr() for _ in range(3) for batch in loader}
        assert all(torch.equal(batch.images, copy) for batch, copy in zip(kept, copies, strict=True))
    assert len(places) <= 13


RESIDENT = """
import re, sys
from pathlib import Path
import penstock.torch
from penstock.transforms import Resize, ToDtype

def peak_bytes():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

def load(side, memory):
    transforms = [Resize((side, side)), ToDtype("float32", scale=True)]
    options = {"batch_size": 4, "transforms": transforms, "threads": 2, "device": "cpu", "memory": memory}
    with penstock.torch.Loader(sys.argv[1], **options) as loader:
        for _ in range(2):
            for images, labels in loader:
                for _ in range(15):  # slower than loading, so that all queues fill
                    images.sum()

load(64, None)
before = peak_bytes()
load(800, int(sys.argv[2]))
print(peak_bytes() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's books")
def test_floats_on_their_way_to_the_consumer_stay_within_the_budget():
    budget = 165_000_000  # a batch is 8 MB of pixels and 31 MB of floats
    # What counts is what the loader holds. glibc would keep freed blocks of this size for later, unless told not to.
    allocator = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    command = [sys.executable, "-c", RESIDENT, str(packed()), str(budget)]
    done = subprocess.run(command, env=allocator, capture_output=True, text=True, timeout=120, check=True)
    assert 60_000_000 < int(done.stdout) < budget + 20_000_000


def test_masks_and_other_labels_come_as_a_batch():
    with penstock.torch.Loader(masked(), batch_size=20, transforms=Resize((16, 16))) as loader:
        (batch,) = loader
    assert isinstance(batch, Batch)
    assert (batch["image"].shape, batch["mask"].shape) == ((20, 3, 16, 16), (20, 1, 16, 16))
    with penstock.torch.Loader(labelled(), batch_size=8, device="cpu") as loader:
        (batch,) = loader
    assert batch["weight"].dtype == torch.float64
    assert isinstance(batch["caption"], list)


def test_the_dtype_of_masks_is_set_by_name():
    transforms = [Resize((16, 16)), ToDtype({"image": torch.float32, "mask": torch.int64}, scale=True)]
    for device in (None, "cpu"):
        with penstock.torch.Loader(masked(), batch_size=20, transforms=transforms, device=device) as loader:
            (batch,) = loader
        assert (batch["image"].dtype, batch["mask"].dtype) == (torch.float32, torch.int64)


def test_a_foreign_transform_runs_on_the_batch_where_that_is_the_same():
    shapes = []

    def grey(images):
        shapes.append(images.shape)
        return images[:, :1]

    batches = tensors([*AUGMENT, stand_in("Grayscale", grey)])
    assert [tuple(shape) for shape in shapes] == [(10, 3, 32, 32)] * 4 + [(7, 3, 32, 32)]
    assert batches[0].images.shape == (10, 1, 32, 32)


def test_a_random_foreign_transform_draws_for_each_sample_by_name():
    def brighten(image):
        assert image.shape == (3, 32, 32)
        return image.float() * (1 + torch.rand(()))

    transforms = [*AUGMENT, stand_in("ColorJitter", brighten)]
    torch.manual_seed(1)
    before = torch.rand(1)
    torch.manual_seed(1)
    first = {int(i): image for batch in tensors(transforms) for i, image in zip(batch.ids, batch.images, strict=True)}
    assert torch.rand(1) == before  # the user's own random numbers are not touched
    with penstock.torch.Loader(packed(), batch_size=7, transforms=transforms, shuffle=False) as loader:
        for batch in loader:
            for number, image in zip(batch.ids.tolist(), batch.images, strict=True):
                assert torch.equal(image, first[number])
    plain = {int(i): image for batch in arrays() for i, image in zip(batch.ids, batch.images, strict=True)}
    factors = {round(float(first[i].sum() / plain[i].sum()), 4) for i in first}
    assert len(factors) > 40


def test_values_after_a_foreign_transform_keep_their_place():
    transforms = [*AUGMENT, stand_in("Grayscale", lambda images: images), *FLOATS]
    for batch, expected in zip(tensors(transforms), tensors((*AUGMENT, *FLOATS)), strict=True):
        assert torch.allclose(batch.images, expected.images, atol=1e-5)


def test_normalizing_whole_numbers_after_a_foreign_transform_is_refused():
    with pytest.raises(UsageError, match="not of floats"):
        tensors([*AUGMENT, stand_in("Grayscale", lambda images: images), FLOATS[1]])


def test_transforms_that_mix_samples_get_images_and_labels():
    def mix(images, labels):
        order = torch.randperm(len(images))
        return images[order], torch.nn.functional.one_hot(labels[order], 4)

    one, two = tensors([*AUGMENT, stand_in("MixUp", mix)]), tensors([*AUGMENT, stand_in("MixUp", mix)])
    assert one[0].labels.shape == (10, 4)
    assert all(torch.equal(a.images, b.images) for a, b in zip(one, two, strict=True))


def test_a_batch_that_lost_all_its_samples_passes_every_transform(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "0.jpg").write_bytes(jpeg(photo(64, 48)))
    (tmp_path / "one" / "1.jpg").write_bytes(b"this is no image")
    transforms = [
        *AUGMENT,
        stand_in("ColorJitter", lambda image: image),
        stand_in("MixUp", lambda *both: both),
        *FLOATS,
    ]
    with penstock.torch.Loader(tmp_path, batch_size=1, transforms=transforms, on_error="skip", shuffle=False) as loader:
        assert [tuple(images.shape) for images, _ in loader] == [(1, 3, 32, 32), (0, 3, 32, 32)]


def test_a_foreign_transform_that_moves_pixels_is_refused_where_masks_would_have_to_follow():
    with pytest.raises(UsageError, match="RandomRotation would move images but not their masks"):
        penstock.torch.Loader(masked(), batch_size=4, transforms=[*AUGMENT, stand_in("RandomRotation", abs)])


def test_a_gpu_that_is_not_there_is_what_the_error_is_about(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", torch.device("cuda:1")):
        with pytest.raises(UsageError, match=r"no such device here: got device=.*cuda") as raised:
            penstock.torch.Loader(packed(), batch_size=10, transforms=AUGMENT, device=device)
        assert "pin_memory" not in str(raised.value)


def test_epochs_and_statistics_are_the_loaders():
    with penstock.torch.Loader(packed(), batch_size=47, transforms=AUGMENT, device="cpu") as loader:
        first, second = [next(iter(loader)).ids.tolist() for _ in range(2)]
        loader.set_epoch(0)
        assert next(iter(loader)).ids.tolist() == first != second
        list(loader)
        assert loader.statistics().samples == COUNT
        assert [stage.name for stage in loader.statistics().stages] == ["read", "decode", "deliver"]
        assert (loader.batch_size, len(loader.dataset)) == (47, COUNT)


class Histogram:
    """No transform: what it returns is none."""

    def __call__(self, image):
        return image.float().mean().item()


class Grayscale(Histogram):
    """The same, by a name for which one call serves the whole batch."""


@pytest.mark.parametrize("transform", [Histogram(), Grayscale()])
def test_a_transform_that_returns_no_tensor_is_named(transform):
    with (
        penstock.torch.Loader(packed(), batch_size=4, transforms=[RandomResizedCrop(16), transform]) as loader,
        pytest.raises(UsageError, match=f"{type(transform).__name__} returned no tensor: got float, expected a tensor"),
    ):
        next(iter(loader))
