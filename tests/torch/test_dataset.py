"""Samples for torch's own DataLoader: the loader's pixels, in any process."""

import gc
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import penstock.torch
from penstock.errors import UsageError
from penstock.loader import Loader as ArrayLoader
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop, Resize, ToDtype
from tests.datasets import COUNT, labelled, masked, packed

AUGMENT = (RandomResizedCrop(32), RandomHorizontalFlip())


def test_a_dataset_under_a_data_loader_gives_the_loaders_pixels():
    dataset = penstock.torch.Dataset(packed(), transforms=AUGMENT, seed=4)
    assert len(dataset) == COUNT
    with ArrayLoader(packed(), batch_size=10, transforms=AUGMENT, seed=4, shuffle=False) as loader:
        for (images, labels), expected in zip(DataLoader(dataset, batch_size=10), loader, strict=True):
            assert np.array_equal(images.numpy(), expected.images)
            assert np.array_equal(labels.numpy(), expected.labels)
    image, label = dataset[-1]
    assert image.shape == (3, 32, 32)
    assert label.dtype == torch.int64
    with pytest.raises(IndexError):
        dataset[COUNT]
    with pytest.raises(UsageError, match=r"a sample's number: got 1\.5, expected a whole number"):
        dataset[1.5]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_may_be_started_in_any_way_and_learn_of_new_epochs(method):
    dataset = penstock.torch.Dataset(packed(), transforms=AUGMENT, seed=4)
    dataset[0]  # a decoder in this process must not disturb a fork
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # some Pythons warn about any fork beside threads
        loader = DataLoader(
            dataset, batch_size=10, num_workers=2, multiprocessing_context=method, persistent_workers=method == "spawn"
        )
        first = [images for images, _ in loader]
        assert torch.equal(torch.cat(first), torch.stack([dataset[i][0] for i in range(COUNT)]))
        if method == "spawn":
            dataset.set_epoch(1)
            second = [images for images, _ in loader]
            assert torch.equal(torch.cat(second), torch.stack([dataset[i][0] for i in range(COUNT)]))
            assert not torch.equal(torch.cat(first), torch.cat(second))
        del loader
        gc.collect()


def test_several_fields_collate_into_a_dict():
    dataset = penstock.torch.Dataset(masked(), transforms=[Resize((16, 16)), ToDtype(torch.bfloat16, scale=True)])
    batch = next(iter(DataLoader(dataset, batch_size=5)))
    assert {name: tuple(value.shape) for name, value in batch.items()} == {
        "image": (5, 3, 16, 16),
        "mask": (5, 1, 16, 16),
        "label": (5,),
    }
    assert batch["image"].dtype == torch.bfloat16
    assert list(next(iter(DataLoader(penstock.torch.Dataset(labelled()), batch_size=2)))["caption"]) == [
        penstock.torch.Dataset(labelled())[i]["caption"] for i in range(2)
    ]


def test_a_dataset_pickles_without_its_decoder():
    dataset = penstock.torch.Dataset(packed(), transforms=AUGMENT, seed=4)
    image, _ = dataset[3]
    assert torch.equal(pickle.loads(pickle.dumps(dataset))[3][0], image)


def test_a_dataset_has_no_epoch_before_the_first():
    with pytest.raises(UsageError, match="epoch: got -1, expected a whole number, at least 0"):
        penstock.torch.Dataset(packed(), transforms=[RandomResizedCrop(16)]).set_epoch(-1)
