"""Images that tell what was cut out of them, and a check that the crops are those that were asked for.

Every pixel of a rehearsal's image says where it is: red grows from left to right, green from top to bottom, and blue is
the same all over and belongs to the sample. So a delivered image, whoever cropped, resized and flipped it, shows which
box was cut out (a line fitted to its reds and one to its greens), whether it was flipped, whether red, green and blue
are in that order, and whether it goes with the id that came with it.

Before a peer is timed it goes through a rehearsal. Its boxes are compared with drawn ones (RandomResizedCrop: area 8 to
100 %, the logarithm of the aspect uniform between 3/4 and 4/3) by Kolmogorov and Smirnov's largest distance of two
distributions, at a level that one honest race in thousands fails; its flips with half of all. A loader that crops from
another distribution does other work: smaller crops cost less.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.results import Gate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["EPOCHS", "FRAMES", "Boxes", "blue_of", "boxes_of", "crop_box", "drawn", "gates"]

EPOCHS = 2
FRAMES = ((400, 300), (300, 400))  # by whether the sample's number is even
LEVELS = 15  # of blue
BLUE_APART = 6.0  # of a mean blue, from what it should be; levels are 16 apart
KS_LEVEL = 1e-5
DRAWN = 20_000
MIDDLE = 0.1  # of the image at each edge is left out of the fit: filters bend the line there


def blue_of(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the blue of samples."""
    return 8 + 16 * (ids % LEVELS)


def crop_box(width: int, height: int, draws: random.Random | Any = random) -> tuple[int, int, int, int]:
    """Draw RandomResizedCrop's box: area 8 to 100 %, aspect 3/4 to 4/3, the middle after ten misses."""
    for _ in range(10):
        area = width * height * draws.uniform(0.08, 1.0)
        aspect = math.exp(draws.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            x, y = draws.randint(0, width - w), draws.randint(0, height - h)
            return x, y, x + w, y + h
    side = min(width, height)
    x, y = (width - side) // 2, (height - side) // 2
    return x, y, x + side, y + side


class Boxes:
    """Boxes of crops as four numbers each, that do not depend on the frame: area, aspect, and where in the frame."""

    NAMES = ("area", "aspect", "across", "down")

    def __init__(self) -> None:
        self.values: list[tuple[float, float, float, float]] = []
        self.flips: list[bool] = []
        self.strange: list[str] = []  # images that do not go with their ids, or whose colours are not red, green, blue

    def add(self, box: tuple[float, float, float, float], frame: tuple[int, int], *, is_flipped: bool) -> None:
        """Note a box: left, top, right, bottom."""
        left, top, right, bottom = box
        (width, height), (w, h) = frame, (right - left, bottom - top)
        across = (left + right) / 2 / width
        self.values.append((w * h / (width * height), math.log(w / h), across, (top + bottom) / 2 / height))
        self.flips.append(is_flipped)


def boxes_of(images: NDArray[np.uint8], ids: Sequence[int] | NDArray[np.int64], into: Boxes) -> None:
    """Find the boxes of a batch of a rehearsal, channels first or last."""
    array = np.asarray(images)
    if array.shape[1] == 3:
        array = array.transpose(0, 2, 3, 1)
    levels = array.astype(np.float64)
    side = array.shape[2]
    inner = slice(math.ceil(side * MIDDLE), side - math.ceil(side * MIDDLE))
    places = (np.arange(side) + 0.5)[inner] / side
    numbers = np.asarray(ids, np.int64).reshape(-1)
    expected = blue_of(numbers)
    for sample, image, blue in zip(numbers, levels, expected, strict=True):
        frame = FRAMES[sample % 2]
        if abs(image[..., 2].mean() - blue) > BLUE_APART:
            into.strange.append(f"sample {sample} has blue {image[..., 2].mean():.0f} and not {blue}")
            continue
        red = np.polyfit(places, image[..., 0].mean(axis=0)[inner], 1)
        green = np.polyfit(places, image[..., 1].mean(axis=1)[inner], 1)
        left, right = (frame[0] * (red[0] * end + red[1]) / 255 for end in (0, 1))
        top, bottom = (frame[1] * (green[0] * end + green[1]) / 255 for end in (0, 1))
        if bottom <= top or left == right:
            into.strange.append(f"sample {sample} shows no box: red and green may be swapped, or it is upside down")
            continue
        into.add((min(left, right), top, max(left, right), bottom), frame, is_flipped=bool(right < left))


def drawn(seed: int = 0) -> Boxes:
    """Draw many boxes of the frames, as they should be."""
    draws, boxes = random.Random(seed), Boxes()  # noqa: S311 statistics, no secret
    for number in range(DRAWN):
        frame = FRAMES[number % 2]
        boxes.add(crop_box(*frame, draws), frame, is_flipped=draws.random() < 0.5)
    return boxes


def distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Give Kolmogorov and Smirnov's: how far two samples' shares below any one value lie apart, at the most."""
    both = np.concatenate([one, other])
    below_one = np.searchsorted(np.sort(one), both, "right") / len(one)
    below_other = np.searchsorted(np.sort(other), both, "right") / len(other)
    return float(np.abs(below_one - below_other).max())


def gates(boxes: Boxes) -> list[Gate]:
    """Check that images go with their ids, and that crops and flips are drawn as they should be."""
    said = "; ".join(boxes.strange[:3])
    found = [Gate(name="pairing", passed=not boxes.strange, got=said, expected="each image with its own id, RGB")]
    if not boxes.values:
        return found
    ours, theirs = np.array(boxes.values), np.array(drawn().values)
    limit = math.sqrt(-math.log(KS_LEVEL / 2) / 2 * (len(ours) + len(theirs)) / (len(ours) * len(theirs)))
    apart = {name: distance(ours[:, n], theirs[:, n]) for n, name in enumerate(Boxes.NAMES)}
    got = ", ".join(f"{name} {value:.3f}" for name, value in apart.items())
    middle = f"; median area {np.median(ours[:, 0]):.2f}, of drawn ones {np.median(theirs[:, 0]):.2f}"
    found.append(
        Gate(
            name="crops",
            passed=bool(max(apart.values()) <= limit),
            got=f"distances from drawn boxes: {got}{middle}",
            expected=f"RandomResizedCrop: at most {limit:.3f}",
        )
    )
    count, flips = len(boxes.flips), sum(boxes.flips)
    off = abs(flips - count / 2) / math.sqrt(count / 4)
    passed = bool(off < 4.4)  # one honest race in a hundred thousand fails
    found.append(Gate(name="flips", passed=passed, got=f"{flips} of {count} flipped", expected="half of them"))
    return found
