"""Images of mixed sizes whose size is fixed by a transform that is not ours: decoded whole, transformed one by one."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import penstock.torch
from penstock.errors import PenstockError, UsageError
from penstock.loader import Tuning
from penstock.transforms import Normalize, RandomHorizontalFlip, RandomResizedCrop, Resize, ToDtype
from tests.datasets import COUNT, packed, pixels_of
from tests.images import jpeg, photo, png
from tests.stand_ins import stand_in

FLOATS = (ToDtype(torch.float32, scale=True), Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]))


def random_crop(image):
    top, left = (int(torch.randint(side - 39, ())) for side in image.shape[-2:])
    return image[..., top : top + 40, left : left + 40]


def foreign_crop(**arguments):
    """A torchvision RandomResizedCrop; some arguments are beyond the decoder."""
    arguments = {"interpolation": "bilinear", "antialias": True, **arguments}
    return stand_in(
        "RandomResizedCrop", random_crop, size=(40, 40), scale=(0.08, 1.0), ratio=(0.75, 4 / 3), **arguments
    )


VERTICAL_FLIP = stand_in("RandomVerticalFlip", lambda image: image.flip(-2) if torch.rand(()) < 0.5 else image)
JITTER = stand_in("ColorJitter", lambda image: image)


def loader(transforms, source=None, **options):
    return penstock.torch.Loader(source or packed(), transforms=transforms, **{"batch_size": 10, **options})


def by_number(transforms, **options):
    with loader(transforms, **options) as batches:
        return {int(i): one for batch in batches for i, one in zip(batch.ids, batch.images, strict=True)}


@pytest.mark.parametrize(
    "transforms",
    [
        [foreign_crop(interpolation="bicubic")],
        [foreign_crop(antialias=False), *FLOATS],
        [VERTICAL_FLIP, foreign_crop()],
        [JITTER, foreign_crop(), JITTER],
        [Resize(64), RandomHorizontalFlip(), VERTICAL_FLIP, FLOATS[0], foreign_crop(), FLOATS[1]],
        [*FLOATS, random_crop],
    ],
)
@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, {"memory_format": torch.channels_last, "threads": 0}])
def test_a_transform_that_is_not_ours_may_be_the_one_that_fixes_the_size(transforms, options):
    with loader(transforms, **options) as batches:
        found = list(batches)
    assert [tuple(batch.images.shape) for batch in found] == [(10, 3, 40, 40)] * 4 + [(7, 3, 40, 40)]
    assert sorted(int(number) for batch in found for number in batch.ids) == list(range(COUNT))
    classes = penstock.open(packed()).labels("label")
    assert all(np.array_equal(batch.labels, classes[batch.ids]) for batch in found)
    assert {batch.images.dtype for batch in found} == {torch.float32 if FLOATS[0] in transforms else torch.uint8}


def test_a_transform_that_is_not_ours_is_given_the_whole_image_with_the_values_before_it():
    seen = []

    def note(image):
        seen.append(image)
        return image[..., :8, :8]

    dataset = penstock.open(packed())
    for transforms, scale in (([note], 1), ([FLOATS[0], note], 255)):
        seen.clear()
        with loader(transforms) as batches:
            ids = [number for batch in batches for number in batch.ids.tolist()]
        for number, image in zip(ids, seen, strict=True):
            whole = dataset[number].image().transpose(2, 0, 1)
            assert image.shape == whole.shape
            assert np.abs(image.numpy() * scale - whole.astype(float)).mean() <= 0.6


def test_each_sample_has_its_own_random_numbers_by_name():
    transforms = [RandomHorizontalFlip(), foreign_crop(interpolation="bicubic")]
    first = by_number(transforms)
    other = by_number(transforms, batch_size=7, shuffle=False, threads=0)
    assert all(torch.equal(image, other[number]) for number, image in first.items())
    dataset = penstock.torch.Dataset(packed(), transforms=transforms)
    assert torch.equal(dataset[11][0], first[11])
    images = torch.cat([images for images, _ in DataLoader(dataset, batch_size=9)])
    assert all(torch.equal(image, first[number]) for number, image in enumerate(images))


def test_images_of_one_size_take_the_short_way(tmp_path):
    for number in range(4):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg(photo(64, 48, seed=number)))
    options = {"fields": ["image"], "batch_size": 4}
    with loader([foreign_crop(antialias=False)], tmp_path, **options) as batches:
        assert "whole" not in repr(batches)
        (batch,) = batches
    assert batch["image"].shape == (4, 3, 40, 40)


def test_orientations_are_applied_to_images_that_keep_their_size(tmp_path):
    upright = photo(64, 48)
    (tmp_path / "0.jpg").write_bytes(jpeg(upright))
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"  # a quarter turn
    (tmp_path / "1.jpg").write_bytes(jpeg(upright, exif=exif))
    seen = []
    options = {"fields": ["image"], "batch_size": 2, "shuffle": False, "exif_orientation": True}
    with loader([lambda image: seen.append(image) or image[..., :8, :8]], tmp_path, **options) as batches:
        assert len(list(batches)) == 1
    assert [tuple(image.shape) for image in seen] == [(3, 48, 64), (3, 64, 48)]
    assert np.abs(np.rot90(seen[0].numpy(), -1, (1, 2)) - seen[1].numpy().astype(float)).mean() <= 1


def test_samples_that_cannot_be_decoded_are_left_out_or_named(tmp_path):
    (tmp_path / "0.jpg").write_bytes(jpeg(photo(64, 48)))
    (tmp_path / "1.jpg").write_bytes(b"this is no image")
    (tmp_path / "2.png").write_bytes(png(photo(48, 64)))
    (tmp_path / "3.jpg").write_bytes(jpeg(photo(80, 80)))
    options = {"fields": ["image"], "shuffle": False, "tuning": Tuning(max_pixels=4000)}
    with loader([random_crop], tmp_path, on_error="skip", **options) as batches:
        (batch,) = batches
        assert batch.ids.tolist() == [0, 2]
        assert batch["image"].shape == (2, 3, 40, 40)
        assert [error.sample for error in batches.statistics().errors] == ["1", "3"]
    with loader([random_crop, *FLOATS], tmp_path, on_error="skip", **options | {"batch_size": 1}) as batches:
        assert [len(batch["image"]) for batch in batches] == [1, 0, 1, 0]
    with loader([random_crop], tmp_path, **options) as batches, pytest.raises(PenstockError, match=r"1\.jpg"):
        list(batches)


def test_images_that_differ_in_size_in_the_end_are_an_error_that_says_where():
    with (
        loader([VERTICAL_FLIP]) as batches,
        pytest.raises(UsageError, match=r"differ in size after .*RandomVerticalFlip"),
    ):
        next(iter(batches))
    mixing = [stand_in("MixUp", lambda *both: both), random_crop]
    with loader(mixing) as batches, pytest.raises(UsageError, match="MixUp mixes images of one size"):
        next(iter(batches))


def test_where_nothing_can_fix_the_size_that_is_said_before_anything_is_read():
    with pytest.raises(UsageError, match="end with a transform that fixes the size"):
        loader([JITTER, *FLOATS])


def test_the_loader_tells_that_images_are_decoded_whole_and_why():
    with loader([foreign_crop(antialias=False), JITTER]) as batches:
        told = repr(batches)
    assert "images decoded whole, one by one" in told
    assert "RandomResizedCrop (antialias: got False, expected True: shrinking always averages), ColorJitter" in told
    with loader([VERTICAL_FLIP, foreign_crop()]) as batches:
        assert "RandomVerticalFlip, RandomResizedCrop (follows RandomVerticalFlip)" in repr(batches)
    with loader([RandomResizedCrop(32), JITTER]) as batches:
        assert "whole" not in repr(batches)


def test_the_budget_counts_the_average_image_and_in_each_batch_the_largest():
    pixels = [pixels_of(number).shape[0] * pixels_of(number).shape[1] for number in range(COUNT)]
    batch = 3 * int(1.25 * 10 * np.mean(pixels) + max(pixels))
    with loader([random_crop], memory=20 * batch) as batches:
        assert len(list(batches)) == 5
    with pytest.raises(UsageError, match="memory budget is too small"):
        loader([random_crop], memory=4 * batch)
