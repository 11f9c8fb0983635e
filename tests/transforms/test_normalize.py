"""ToDtype and Normalize: one pass gives what torch's step-by-step arithmetic gives."""

import numpy as np
import pytest
import torch

from penstock.errors import UsageError
from penstock.transforms import Normalize, ToDtype
from penstock.transforms.normalize import Values

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
IMAGES = np.random.default_rng(0).integers(0, 256, (4, 3, 9, 7), dtype=np.uint8)


def applied(transforms, images=IMAGES, channel_axis=1):
    values = Values.of(transforms)
    out = np.empty(images.shape, values.dtype)
    values.apply(images, out, channel_axis=channel_axis)
    return out


def test_scaling_and_normalising_agree_with_torch():
    out = applied([ToDtype("float32", scale=True), Normalize(MEAN, STD)])
    tensor = torch.from_numpy(IMAGES).to(torch.float32) / 255
    mean, std = (torch.tensor(one).reshape(3, 1, 1) for one in (MEAN, STD))
    assert np.allclose(out, ((tensor - mean) / std).numpy(), rtol=0, atol=1e-6)


def test_channels_may_come_last():
    transforms = [ToDtype("float32", scale=True), Normalize(MEAN, STD)]
    last = applied(transforms, np.ascontiguousarray(IMAGES.transpose(0, 2, 3, 1)), channel_axis=3)
    assert np.array_equal(last.transpose(0, 3, 1, 2), applied(transforms))


@pytest.mark.parametrize("dtype", [np.float32, "float32", torch.float32, np.dtype("float32"), {"image": torch.float32}])
def test_a_dtype_may_be_given_in_any_spelling(dtype):
    out = applied([ToDtype(dtype)])
    assert out.dtype == np.float32
    assert np.array_equal(out, IMAGES)


def test_only_scale_changes_numbers():
    assert applied([ToDtype("int64", scale=False)]).max() == IMAGES.max()
    assert applied([ToDtype("float64", scale=True)]).max() == IMAGES.max() / 255
    assert np.allclose(applied([ToDtype("float16", scale=True)]), IMAGES / 255, atol=5e-4)
    assert applied([ToDtype("float32", scale=True), ToDtype("float16", scale=True)]).max() <= 1


def test_normalising_twice_is_one_pass_too():
    out = applied([ToDtype("float32", scale=True), Normalize([0.5], [0.5]), Normalize(MEAN, STD)])
    expected = ((IMAGES / 255 - 0.5) / 0.5 - np.reshape(MEAN, (3, 1, 1))) / np.reshape(STD, (3, 1, 1))
    assert np.allclose(out, expected, atol=1e-5)


def test_masks_change_only_where_a_mapping_names_them():
    class Mask:  # stands in for torchvision.tv_tensors.Mask
        pass

    assert Values.of([ToDtype("float32", scale=True)]).mask_dtype == "uint8"
    both = Values.of([ToDtype({"image": "float32", Mask: torch.int64, "others": None}, scale=True)])
    assert (both.dtype, both.mask_dtype) == ("float32", "int64")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Values.of([Normalize(MEAN, STD)]), "put ToDtype"),
        (lambda: Values.of([ToDtype("float32"), ToDtype("uint8")]), "whole numbers again"),
        (lambda: Values.of([ToDtype("int32", scale=True)]), "from uint8 to floats"),
        (lambda: ToDtype("complex64"), "dtype"),
        (lambda: Normalize("abc", "def"), "mean and std: got .'abc', 'def'., expected one or three numbers each"),
        (lambda: Normalize("123", "456"), "expected one or three numbers each"),
        (lambda: Normalize(0.5, 0.5), "expected one or three numbers each"),
        (lambda: Normalize([0.5, "x", 0.5], STD), "expected one or three numbers each"),
        (lambda: Normalize(MEAN, STD[:2]), "mean and std"),
        (lambda: Normalize([0.0], [0.0]), "no zero"),
    ],
)
def test_what_torchvision_would_refuse_is_refused(make, words):
    with pytest.raises(UsageError, match=words):
        make()
