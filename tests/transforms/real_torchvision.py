"""The translation against the real torchvision. Not a test that pytest finds, since torchvision needs its own torch.

    .peers/bin/python -m tests.transforms.real_torchvision

Reads torchvision's own objects, and compares the size rules of Resize and the pixels of CenterCrop on random sizes.
Loads images of mixed sizes through transforms that the decoder cannot do.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, v2

import penstock
from penstock.order import Draws
from penstock.torch import Loader
from penstock.transforms import CenterCrop, ClipSample, Plan, RandomHorizontalFlip, RandomResizedCrop
from penstock.transforms.canvas import Canvas
from tests.clip_datasets import records, write_dataset
from tests.datasets import packed

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
DRAWS = Draws.of(0, 0, np.array([0]))
FILL = {tv_tensors.Image: 7, tv_tensors.Mask: 255}


def check_whole_pipelines_run_natively():
    for transform in (
        v2.Compose(
            [v2.ToImage(), v2.RandomResizedCrop(224), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
        ),
        v1.Compose([v1.Resize(256), v1.CenterCrop(224), v1.ToTensor(), v1.Normalize(MEAN, STD)]),
        torch.nn.Sequential(v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(0.3)),
    ):
        plan = Plan(transform)
        assert plan.rest == (), plan
        assert plan.geometric


def check_paddings_and_fills_are_read_in_their_order():
    new = Plan(v2.RandomCrop(32, padding=(1, 2, 3, 4), fill=FILL)).geometric[0]
    old = Plan(v1.RandomCrop(32, padding=(1, 2, 3, 4))).geometric[0]
    assert new.padding == old.padding == (1, 2, 3, 4)
    geometry = Plan(v2.RandomCrop(8, padding=4, fill=FILL)).geometry(np.array([8]), np.array([8]), DRAWS)
    assert (geometry.fill, geometry.mask_fill) == (7, 255)


def check_what_the_decoder_cannot_do_is_left_alone():
    assert Plan(v2.RandomResizedCrop(224, interpolation=InterpolationMode.BICUBIC)).rest
    names = [getattr(one, "name", None) for one in Plan([v2.RandomResizedCrop(224), v2.ColorJitter(0.4)]).rest]
    assert names == ["ColorJitter"]


def check_resize_follows_the_same_rules():
    random = np.random.default_rng(0)
    for _ in range(1000):
        width, height, size = random.integers(2, 400, 3).tolist()
        max_size = None if random.random() < 0.5 else size + int(random.integers(1, 200))
        transform = v2.Resize(size, max_size=max_size)
        if min(width, height) * (max_size or 10**6) < max(width, height) or size * 400 > 40_000:
            continue  # a side of no pixels there, or a picture too large to be worth making
        expected = transform(torch.zeros(1, height, width, dtype=torch.uint8)).shape[1:]
        canvas = Canvas(np.array([width], np.int32), np.array([height], np.int32))
        Plan(transform).geometric[0].move(canvas, DRAWS)
        assert (int(canvas.heights[0]), int(canvas.widths[0])) == tuple(expected), (width, height, size, max_size)


def check_center_crop_shows_the_same_pixels():
    random = np.random.default_rng(1)
    for _ in range(500):
        width, height, crop_width, crop_height = random.integers(1, 60, 4).tolist()
        picture = torch.arange(1, width * height + 1, dtype=torch.int32).reshape(1, height, width)
        crop = v2.CenterCrop((crop_height, crop_width))
        left, top = Plan(crop).geometry(np.array([width]), np.array([height]), DRAWS).regions[0, :2].astype(int)
        padded = np.pad(picture[0].numpy(), 60)
        shown = padded[60 + top : 60 + top + crop_height, 60 + left : 60 + left + crop_width]
        assert np.array_equal(shown, crop(picture)[0].numpy())


def check_a_transform_that_the_decoder_cannot_do_fixes_the_size():
    crop, to_float = v2.RandomResizedCrop(40), v2.ToDtype(torch.float32, scale=True)
    for first in (
        [v2.RandomResizedCrop(40, interpolation=InterpolationMode.BICUBIC)],
        [v2.RandomResizedCrop(40, antialias=False)],
        [v2.RandomVerticalFlip(), crop],
        [v2.RandomApply([v2.GaussianBlur(3)]), crop],
        [v2.ColorJitter(0.4), v2.RandomCrop(40)],
        [to_float, v2.RandomRotation(10), v2.Resize(64), v2.CenterCrop(40)],
        [v2.RandomResize(50, 60), v2.RandomCrop(40)],
    ):
        transform = v2.Compose([v2.ToImage(), *first, v2.RandomHorizontalFlip(), to_float, v2.Normalize(MEAN, STD)])
        with Loader(packed(), batch_size=10, transforms=transform) as loader:
            assert "images decoded whole" in repr(loader)
            assert [tuple(images.shape) for images, _ in loader] == [(10, 3, 40, 40)] * 4 + [(7, 3, 40, 40)]
    old = v1.Compose([v1.Resize(64, InterpolationMode.BICUBIC), v1.CenterCrop(40), v1.ToTensor()])
    dataset = penstock.open(packed())
    with Loader(packed(), batch_size=10, transforms=old) as loader:
        for batch in loader:
            for number, image in zip(batch.ids.tolist(), batch.images, strict=True):
                whole = torch.from_numpy(dataset[number].image()).permute(2, 0, 1)
                expected = old.transforms[1](old.transforms[0](whole))
                assert (image * 255 - expected).abs().mean() <= 0.6


def check_clips_go_through_compositions_made_for_videos():
    floats = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    native = v2.Compose([v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), *floats])
    jitter = v2.Compose([v2.RandomResizedCrop(24), v2.ColorJitter(0.4, 0.4), v2.RandomGrayscale(), *floats])
    bicubic = v2.Compose([v2.RandomResizedCrop(24, interpolation=InterpolationMode.BICUBIC), *floats])
    mixing = [v2.CutMix(num_classes=5), v2.MixUp(num_classes=5)]
    with tempfile.TemporaryDirectory() as folder:
        clips = write_dataset(Path(folder) / "clips.pen", records())
        for layout, shape in (("CTHW", (3, 5, 24, 24)), ("TCHW", (5, 3, 24, 24))):
            for moves in ([native], [jitter], [bicubic], [native, mixing[0]], [native, mixing[1]]):
                transforms = [ClipSample(5, 2, layout=layout), *moves]
                with Loader(clips, batch_size=4, transforms=transforms, shuffle=False) as loader:
                    for images, labels in loader:
                        assert images.shape == (len(labels), *shape)
                        assert images.dtype == torch.float32
        own = [ClipSample(5, 2), RandomResizedCrop(24), RandomHorizontalFlip(), *floats]
        with (
            Loader(clips, batch_size=11, transforms=own) as one,
            Loader(clips, batch_size=11, transforms=[ClipSample(5, 2), native]) as other,
        ):
            assert torch.equal(next(iter(one)).images, next(iter(other)).images)
        # What torchvision makes of a whole video of one clip: the same colours for every frame.
        with Loader(clips, batch_size=1, transforms=[ClipSample(5, 2), CenterCrop(32), v2.Grayscale(3)]) as loader:
            found = next(iter(loader)).images[0]
        assert torch.equal(found[0], found[1])


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
            print(f"{name.removeprefix('check_').replace('_', ' ')}: yes")  # noqa: T201  a script for people
