"""torchvision's transforms are recognised by class name and module; stand-ins carry both, torchvision is not needed."""

import enum
import sys

import pytest

from penstock.errors import UsageError
from penstock.transforms import (
    CenterCrop,
    Normalize,
    Plan,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
)


class InterpolationMode(enum.Enum):
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"


def stand_in(name, *, module="torchvision.transforms.v2._geometry", **attributes):
    """Make an object that looks like torchvision's transform of that name."""
    kind = type(name, (), {"__module__": module, "__call__": lambda self, *inputs: inputs[0]})
    transform = kind()
    vars(transform).update(attributes)
    return transform


def compose(*transforms, name="Compose"):
    return stand_in(name, module="torchvision.transforms.v2._container", transforms=list(transforms))


BILINEAR = {"interpolation": InterpolationMode.BILINEAR, "antialias": True}
CROP = stand_in("RandomResizedCrop", size=(224, 224), scale=(0.08, 1.0), ratio=(0.75, 4 / 3), **BILINEAR)
FLIP = stand_in("RandomHorizontalFlip", p=0.5)
JITTER = stand_in("ColorJitter", module="torchvision.transforms.v2._color")
TO_FLOAT = stand_in("ToDtype", dtype="float32", scale=True)
NORMALIZE = stand_in("Normalize", mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])


def test_the_usual_training_compose_runs_natively_whole():
    plan = Plan(compose(stand_in("ToImage"), CROP, FLIP, TO_FLOAT, NORMALIZE))
    own = Plan(
        [
            RandomResizedCrop(224),
            RandomHorizontalFlip(),
            ToDtype("float32", scale=True),
            Normalize(NORMALIZE.mean, NORMALIZE.std),
        ]
    )
    assert [type(one) for one in plan.geometric] == [RandomResizedCrop, RandomHorizontalFlip]
    assert plan.geometric[0].scale == (0.08, 1.0)
    assert plan.values == own.values
    assert plan.rest == ()


def test_the_older_compose_with_to_tensor_is_understood_too():
    old = {"module": "torchvision.transforms.transforms"}
    plan = Plan(
        compose(
            stand_in("Resize", size=256, max_size=None, **BILINEAR, **old),
            stand_in("CenterCrop", size=(224, 224), **old),
            stand_in("ToTensor", **old),
            stand_in("Normalize", mean=[0.5], std=[0.5], **old),
        )
    )
    assert [type(one) for one in plan.geometric] == [Resize, CenterCrop]
    assert plan.values.dtype == "float32"
    assert plan.values.factors == (1 / 255 / 0.5,)


def test_paddings_are_read_in_the_order_that_their_version_keeps_them():
    common = {"size": (32, 32), "pad_if_needed": False, "fill": 0, "padding_mode": "constant"}
    new = Plan(stand_in("RandomCrop", padding=[1, 3, 2, 4], **common)).geometric[0]  # left, right, top, bottom
    old = Plan(
        stand_in("RandomCrop", padding=(1, 2, 3, 4), module="torchvision.transforms.transforms", **common)
    ).geometric[0]
    assert new == old == RandomCrop((32, 32), padding=(1, 2, 3, 4))


def test_from_the_first_unknown_transform_on_everything_keeps_its_order_after_decoding():
    plan = Plan(compose(CROP, JITTER, FLIP, stand_in("ToTensor"), NORMALIZE))
    assert [type(one) for one in plan.geometric] == [RandomResizedCrop]
    assert [getattr(one, "name", type(one).__name__) for one in plan.rest] == [
        "ColorJitter",
        "RandomHorizontalFlip",
        "ToDtype",
        "Normalize",
    ]
    assert not plan.values.changes_images


def test_nested_containers_are_taken_apart():
    plan = Plan([compose(CROP), compose(compose(FLIP), name="Sequential")])
    assert len(plan.geometric) == 2


@pytest.mark.parametrize(
    "transform",
    [
        stand_in("Resize", size=256, max_size=None, interpolation=InterpolationMode.BICUBIC, antialias=True),
        stand_in("RandomCrop", size=(8, 8), padding=[1] * 4, pad_if_needed=False, fill=0, padding_mode="reflect"),
        stand_in(
            "RandomCrop", size=(8, 8), padding=[1] * 4, pad_if_needed=False, fill=(1, 2, 3), padding_mode="constant"
        ),
    ],
)
def test_arguments_that_the_decoder_cannot_do_are_left_to_torchvision(transform):
    plan = Plan([CROP, transform])
    assert [type(one) for one in plan.geometric] == [RandomResizedCrop]
    assert plan.rest[0].transform is transform


def test_each_transform_runs_in_the_manner_that_keeps_its_randomness_per_sample():
    mix = stand_in("MixUp", module="torchvision.transforms.v2._augment")
    grey = stand_in("Grayscale")
    jitter, grey_rest, mix_rest = Plan([JITTER, grey, mix]).rest
    assert (jitter.runs_on_batch, jitter.needs_labels, jitter.moves_pixels) == (False, False, False)
    assert (grey_rest.runs_on_batch, grey_rest.needs_labels, grey_rest.moves_pixels) == (True, False, False)
    assert mix_rest.needs_labels
    assert Plan(stand_in("RandomRotation")).rest[0].moves_pixels


def test_a_class_of_that_name_from_elsewhere_is_not_taken_for_torchvisions():
    plan = Plan(stand_in("Normalize", module="albumentations.augmentations", mean=[0.5], std=[0.5]))
    assert plan.rest[0].name == "Normalize"


def test_our_geometry_cannot_follow_a_foreign_transform():
    with pytest.raises(UsageError, match="CenterCrop cannot follow ColorJitter"):
        Plan([JITTER, CenterCrop(8)])


@pytest.mark.parametrize("given", [[3], "RandomResizedCrop", ["flip"], b"x", None])
def test_what_is_no_transform_is_refused(given):
    with pytest.raises(UsageError, match="not a transform"):
        Plan(given)


def test_torchvision_is_never_imported():
    assert "torchvision" not in sys.modules
