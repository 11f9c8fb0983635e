"""Does it stand up at all? Fifty images packed, checked, loaded as tensors. Runs first."""

from importlib.metadata import version

import numpy as np
import torch

import penstock
import penstock.torch
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop
from tests.images import image_folder


def test_fifty_images_packed_become_tensors(tmp_path):
    source = image_folder(tmp_path / "photos", classes=5, per_class=10)
    penstock.pack(source, tmp_path / "photos.pen", seed=3)
    dataset = penstock.open(tmp_path / "photos.pen")
    assert len(dataset) == 50
    assert dataset.classes == tuple(f"class{label}" for label in range(5))
    loader = penstock.torch.Loader(
        tmp_path / "photos.pen", batch_size=16, seed=7, transforms=[RandomResizedCrop(32), RandomHorizontalFlip()]
    )
    assert len(loader) == 4
    seen = []
    with loader:
        for images, labels in loader:
            assert images.dtype == torch.uint8
            assert images.shape == (len(labels), 3, 32, 32)
            assert labels.dtype == torch.int64
            assert images.float().std() > 1
            seen += labels.tolist()
    assert sorted(seen) == sorted(np.repeat(range(5), 10).tolist())


def test_the_same_folder_loads_without_packing(tmp_path):
    source = image_folder(tmp_path / "photos", classes=2, per_class=5)
    with penstock.Loader(source, batch_size=4, seed=7, transforms=[RandomResizedCrop(32)]) as loader:
        shapes = [images.shape for images, _ in loader]
    assert shapes == [(4, 3, 32, 32), (4, 3, 32, 32), (2, 3, 32, 32)]


def test_the_version_is_the_distributions():
    assert penstock.__version__ == version("penstock")
