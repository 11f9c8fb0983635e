"""Page-locked memory: refused where there is no use for it, and never recycled by us where copies may be queued."""

import pytest
import torch

import penstock.torch
from penstock.errors import UsageError
from penstock.transforms import Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype
from tests.datasets import packed

AUGMENT = (RandomResizedCrop(32), RandomHorizontalFlip())
FLOATS = (ToDtype(torch.float32, scale=True), Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]))


def test_page_locked_memory_is_given_where_there_is_a_gpu_and_refused_elsewhere():
    options = {"batch_size": 10, "transforms": AUGMENT, "pin_memory": True}
    if torch.cuda.is_available():
        with penstock.torch.Loader(packed(), **options) as loader:
            assert all(images.is_pinned() and images[3:].is_pinned() for images, _ in loader)
    else:
        with pytest.raises(UsageError, match="needs a GPU"):
            penstock.torch.Loader(packed(), **options)


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("transforms", [AUGMENT, (*AUGMENT, *FLOATS)])
def test_page_locked_memory_is_recycled_by_its_allocator_alone(monkeypatch, device, transforms):
    """Copies from it may be queued when the batch is dropped; the allocator knows of them, and we do not."""
    made = []

    def allocate(size_bytes):  # ordinary memory, all of it kept, so that no address comes twice by itself
        made.append(torch.empty(size_bytes, dtype=torch.uint8))
        return made[-1].numpy()

    monkeypatch.setattr(penstock.torch.loader, "pinned", allocate)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    options = {"batch_size": 2, "transforms": transforms, "pin_memory": True, "device": device}
    with penstock.torch.Loader(packed(), **options) as loader:
        if device is None or transforms is AUGMENT:
            owners = {images.untyped_storage().data_ptr() for _ in range(2) for images, _ in loader}
            assert owners == {block.data_ptr() for block in made}
        else:  # values were applied to a copy
            assert sum(1 for _ in range(2) for _ in loader) == len(made)
    assert len(made) == 2 * len(loader)
