"""ToDtype and Normalize: arithmetic on the pixels of a finished batch, several transforms in one pass.

Pixels leave the decoder as uint8. Each of these transforms multiplies and adds per channel, and so does any sequence
of them; `Values` is that sum: one dtype, one factor and one shift per channel, applied in a single pass. Results agree
with torchvision's step-by-step arithmetic to the last bits of a float32.

torchvision's rules are kept: ToDtype changes numbers only with scale=True (0 … 255 becomes 0 … 1), Normalize refuses
whole numbers, and masks are left alone unless a mapping of dtypes names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Normalize", "ToDtype", "Values"]

FLOATS = ("float16", "bfloat16", "float32", "float64")
WHOLES = ("uint8", "int16", "int32", "int64")


@final
@dataclass(frozen=True)
class ToDtype:
    """Another dtype; with `scale=True` the range 0 … 255 becomes 0 … 1."""

    dtype: Any  # a NumPy or torch dtype, its name, or a mapping from kind ("image", "mask", "others") to one
    scale: bool = False

    def __post_init__(self) -> None:
        for kind in ("image", "mask"):
            self.dtype_name(kind)

    def dtype_name(self, kind: str) -> str | None:
        """Name the dtype for "image" or "mask"; None: unchanged."""
        dtype = self.dtype
        if isinstance(dtype, Mapping):
            named = {str(getattr(key, "__name__", key)).lower(): value for key, value in dtype.items()}
            dtype = named.get(kind, named.get("others"))
        elif kind == "mask":
            return None
        return None if dtype is None else _dtype_name(dtype)


def _dtype_name(dtype: Any) -> str:
    name = dtype if isinstance(dtype, str) else str(getattr(dtype, "__name__", dtype))
    name = name.removeprefix("torch.")
    if name not in FLOATS + WHOLES:
        raise UsageError("ToDtype: dtype", got=dtype, expected="one of " + ", ".join(FLOATS + WHOLES))
    return name


@final
@dataclass(frozen=True)
class Normalize:
    """(value - mean) / std, per channel; the batch must be of floats by now."""

    mean: Sequence[float]
    std: Sequence[float]
    inplace: bool = False  # torchvision's argument; batches are always changed in place

    def __post_init__(self) -> None:
        mean, std = (np.asarray(numbers) for numbers in (self.mean, self.std))
        if mean.shape not in {(1,), (3,)} or std.shape != mean.shape or {mean.dtype.kind, std.dtype.kind} - set("iuf"):
            raise UsageError("Normalize: mean and std", got=(self.mean, self.std), expected="one or three numbers each")
        if any(std == 0 for std in self.std):
            raise UsageError("Normalize: std", got=self.std, expected="no zero")


@final
@dataclass(frozen=True)
class Values:
    """What a sequence of ToDtype and Normalize comes to: value * factor + shift, in a dtype."""

    dtype: str = "uint8"
    factors: tuple[float, ...] = (1.0,)  # one for all channels, or one per channel
    shifts: tuple[float, ...] = (0.0,)
    mask_dtype: str = "uint8"

    @classmethod
    def of(cls, transforms: Sequence[ToDtype | Normalize]) -> Values:
        """Sum up transforms in their order."""
        values = cls()
        for transform in transforms:
            values = (
                values.then_dtype(transform) if isinstance(transform, ToDtype) else values.then_normalize(transform)
            )
        return values

    def then_dtype(self, transform: ToDtype) -> Values:
        """Add a change of dtype."""
        new = transform.dtype_name("image") or self.dtype
        values = replace(self, dtype=new, mask_dtype=transform.dtype_name("mask") or self.mask_dtype)
        if self.dtype in FLOATS and new in WHOLES:
            raise UsageError("ToDtype: floats cannot become whole numbers again", got=f"{self.dtype} to {new}")
        if transform.scale and self.dtype in WHOLES and new != self.dtype:
            if self.dtype != "uint8" or new in WHOLES:
                raise UsageError("ToDtype: scale=True goes from uint8 to floats", got=f"{self.dtype} to {new}")
            values = replace(values, factors=tuple(factor / 255 for factor in self.factors))
        return values

    def then_normalize(self, transform: Normalize) -> Values:
        """Add a normalisation."""
        if self.dtype not in FLOATS:
            raise UsageError(
                "Normalize: the batch is not of floats",
                got=self.dtype,
                expected="floats",
                hint="put ToDtype('float32', scale=True) before it",
            )
        count = max(len(self.factors), len(transform.mean))
        per_channel = zip(
            *(tuple(one) * (count // len(one)) for one in (self.factors, self.shifts, transform.mean, transform.std)),
            strict=True,
        )
        factors, shifts = zip(
            *((factor / std, (shift - mean) / std) for factor, shift, mean, std in per_channel), strict=True
        )
        return replace(self, factors=factors, shifts=shifts)

    @property
    def changes_images(self) -> bool:
        """Whether a batch of uint8 images would not stay as it is."""
        return self.dtype != "uint8"

    def apply(self, images: NDArray[np.uint8], out: NDArray[Any], *, channel_axis: int) -> None:
        """Write the batch's new values into `out`, an array of the same shape and of `dtype`."""
        shape = [1] * images.ndim
        shape[channel_axis] = -1
        wide = np.float64 if self.dtype == "float64" else np.float32
        factors = np.asarray(self.factors, wide).reshape(shape)
        if self.factors == (1.0,):
            np.copyto(out, images, casting="unsafe")
        else:
            # NumPy converts in small blocks on the way, so no float copy of the batch is ever made.
            np.multiply(images, factors, out=out, dtype=wide, casting="unsafe")
        if any(self.shifts):
            np.add(out, np.asarray(self.shifts, wide).reshape(shape), out=out, casting="unsafe")
