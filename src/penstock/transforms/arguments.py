"""Checks of the arguments that several transforms share, with torchvision's conventions.

torchvision takes a size as an int or a sequence, an interpolation as an enum whose value is its name, and a fill as a
number, a sequence per channel or a dict per kind of input. What the native core cannot do is refused here by name, so
that nobody gets other pixels than the arguments promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.errors import UsageError

__all__ = ["fill_values", "is_bilinear", "probability", "require_bilinear", "size_pair", "whole"]


def size_pair(size: int | Sequence[int], *, what: str) -> tuple[int, int]:
    """(height, width) from an int (a square) or a sequence of one or two."""
    sides = list(size) if isinstance(size, Sequence) else [size]
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2 or not all(isinstance(side, int | np.integer) and side > 0 for side in sides):
        raise UsageError(f"{what}: not a size", got=size, expected="a positive int or (height, width)")
    return int(sides[0]), int(sides[1])


def is_bilinear(interpolation: Any) -> bool:
    """Whether an interpolation, by name, Pillow's number or torchvision's enum, is the bilinear one."""
    name = getattr(interpolation, "value", interpolation)
    return name == 2 or (isinstance(name, str) and name.lower() == "bilinear")


def require_bilinear(interpolation: Any, antialias: bool | None, *, what: str) -> None:
    """Refuse any resampling but the antialiased bilinear one."""
    if not is_bilinear(interpolation):
        raise UsageError(f"{what}: interpolation", got=interpolation, expected="bilinear")
    if antialias is False:
        raise UsageError(f"{what}: antialias", got=False, expected="True: shrinking always averages")


def probability(p: float, *, what: str) -> float:
    """Check a probability."""
    if not isinstance(p, int | float) or not 0 <= p <= 1:
        raise UsageError(f"{what}: not a probability", got=p, expected="0 … 1")
    return float(p)


def whole(number: Any, *, least: int, what: str, otherwise: str = "") -> None:
    """Check a whole number; `otherwise` names what else might have been given."""
    if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < least:
        raise UsageError(what, got=repr(number), expected=f"{otherwise}a whole number, at least {least}")


def fill_values(fill: Any, *, what: str) -> tuple[int, int]:
    """Fill for images and for masks, from one value for both or a mapping by kind.

    The keys of a mapping are "image", "mask" and "others", or classes of those names (as torchvision's tv_tensors).
    """
    if isinstance(fill, Mapping):
        named = {str(getattr(key, "__name__", key)).lower(): value for key, value in fill.items()}
        other = named.get("others", 0)
        return _fill_value(named.get("image", other), what), _fill_value(named.get("mask", other), what)
    return _fill_value(fill, what), _fill_value(fill, what)


def _fill_value(fill: Any, what: str) -> int:
    channels = list(fill) if isinstance(fill, Sequence) else [0 if fill is None else fill]
    is_even = all(isinstance(value, int | float) and value == channels[0] for value in channels)
    if not channels or not is_even or channels[0] not in range(256):
        raise UsageError(f"{what}: fill", got=fill, expected="one whole number 0 … 255 for all channels")
    return int(channels[0])
