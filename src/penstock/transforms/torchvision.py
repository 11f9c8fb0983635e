"""torchvision's transforms, translated by class name: torchvision itself is never imported.

A torchvision (v1 or v2) `Compose` is taken apart in order. What the decoder can do becomes ours: crops, resizes, the
horizontal flip, dtype and normalisation, with their arguments read from the attributes that torchvision keeps them in.
Conversions between PIL images and tensors fall away, since the decoder makes uint8 arrays anyway. What is left is
`Foreign`: it runs after the decoder on torch tensors, and from the first such transform on everything keeps its order
and runs there too.

A foreign transform is called in one of three manners:
- on the whole batch, where that gives what one call per sample would give: no randomness in it;
- per sample, where every sample must get its own random numbers (a call on the batch would give all samples the same),
  or where images differ in size at that point;
- on the batch with its labels: CutMix and MixUp, which mix samples with one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

from penstock.errors import UsageError
from penstock.transforms.crop import CenterCrop, RandomCrop, RandomResizedCrop
from penstock.transforms.flip import RandomHorizontalFlip
from penstock.transforms.normalize import Normalize, ToDtype
from penstock.transforms.resize import Resize

__all__ = ["Foreign", "flatten", "translate"]

CONTAINERS = {"Compose", "Sequential"}  # the latter is torch.nn's, which torchvision documents for scripting

# Nothing to do: the decoder delivers uint8 RGB arrays.
FALLS_AWAY = {"ToImage", "ToPureTensor", "PILToTensor", "Identity", "RGB", "ToImageTensor", "ToImagePIL", "ToPILImage"}

# One call on the batch gives what one call per sample would.
ON_BATCH = {
    "Grayscale",
    "LinearTransformation",
    "Pad",
    "ToDtype",
    "Normalize",
    "ConvertImageDtype",
    "CenterCrop",
    "Resize",
}

WITH_LABELS = {"CutMix", "MixUp"}

# These change colours and not places: masks need not follow.
COLOUR_ONLY = {
    "ColorJitter",
    "GaussianBlur",
    "GaussianNoise",
    "Grayscale",
    "LinearTransformation",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomEqualize",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomSolarize",
}


@final
@dataclass(frozen=True)
class Foreign:
    """A transform that is not ours and runs on torch tensors after decoding."""

    transform: Callable[..., Any]
    why: str = ""  # the decoder does not do it, where a stranger might think that it does

    @property
    def name(self) -> str:
        """The transform's class name."""
        return type(self.transform).__name__

    @property
    def told(self) -> str:
        """Name it, and say why it is not ours."""
        return f"{self.name} ({self.why})" if self.why else self.name

    @property
    def runs_on_batch(self) -> bool:
        """Whether one call serves the batch; otherwise each sample gets its own."""
        return self.name in ON_BATCH

    @property
    def needs_labels(self) -> bool:
        """Whether it mixes samples and their labels."""
        return self.name in WITH_LABELS

    @property
    def moves_pixels(self) -> bool:
        """Whether a mask would have to follow."""
        return self.name not in COLOUR_ONLY | WITH_LABELS | {"ToDtype", "Normalize", "ConvertImageDtype"}


def flatten(transforms: Any) -> Iterator[Any]:
    """Yield transforms one by one, out of lists, Compose and Sequential, without those that fall away."""
    if isinstance(transforms, Sequence) and not isinstance(transforms, (str, bytes)):  # a text holds texts, endlessly
        for transform in transforms:
            yield from flatten(transform)
    elif type(transforms).__name__ in CONTAINERS:
        yield from flatten(list(getattr(transforms, "transforms", transforms)))
    elif not (_is_torchvision(transforms) and type(transforms).__name__ in FALLS_AWAY):
        yield transforms


def translate(transform: Any) -> Any:
    """Translate one transform into ours where it can be; otherwise make it `Foreign`."""
    if not callable(transform):
        raise UsageError(
            "not a transform",
            got=repr(transform),
            expected="one of penstock.transforms, one of torchvision's, or a callable",
        )
    maker = TRANSLATIONS.get(type(transform).__name__) if _is_torchvision(transform) else None
    if maker is None:
        return Foreign(transform)
    try:
        return maker(transform)
    except UsageError as error:  # arguments that the decoder cannot do, such as bicubic: torchvision does it itself
        return Foreign(transform, str(error).partition("\n")[0].removeprefix(f"{type(transform).__name__}: "))


def _is_torchvision(transform: Any) -> bool:
    return type(transform).__module__.partition(".")[0] == "torchvision"


def _random_crop(transform: Any) -> RandomCrop:
    padding = transform.padding
    if padding is not None and ".v2" in type(transform).__module__:
        left, right, top, bottom = padding  # v2 keeps the parsed padding in this order, v1 what it was given
        padding = (left, top, right, bottom)
    return RandomCrop(transform.size, padding, transform.pad_if_needed, transform.fill, transform.padding_mode)


def _random_resized_crop(transform: Any) -> RandomResizedCrop:
    return RandomResizedCrop(
        transform.size, transform.scale, transform.ratio, transform.interpolation, getattr(transform, "antialias", True)
    )


def _resize(transform: Any) -> Resize:
    return Resize(transform.size, transform.interpolation, transform.max_size, getattr(transform, "antialias", True))


TRANSLATIONS: dict[str, Callable[[Any], Any]] = {
    "CenterCrop": lambda transform: CenterCrop(transform.size),
    "ConvertImageDtype": lambda transform: ToDtype(transform.dtype, scale=True),
    "Normalize": lambda transform: Normalize(transform.mean, transform.std),
    "RandomCrop": _random_crop,
    "RandomHorizontalFlip": lambda transform: RandomHorizontalFlip(transform.p),
    "RandomResizedCrop": _random_resized_crop,
    "Resize": _resize,
    "ToDtype": lambda transform: ToDtype(transform.dtype, transform.scale),
    "ToTensor": lambda _: ToDtype("float32", scale=True),
}
