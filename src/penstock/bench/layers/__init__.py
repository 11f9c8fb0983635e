"""One layer at a time: what `penstock bench` measures apart from everything else.

    tensor     make batches and move them: on the device, to the device, from one image, from random ones
    store      raw ranged reads of a folder or an object store, by how many are under way
    dataset    random items of an opened dataset, by the size of the pool that asks
    decode     codecs and primitives, by core
    loader     some batches of a loader, its start apart
    epoch      whole epochs
    step       with a consumer: a think time or a real model, its use, and what it could be fed

The first four are modules here, each with `Settings`, and `measure` that runs in a process of its own; the others are
races of one or more peers over a part of the case.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LAYERS", "OF_LOADERS", "Layer", "load"]

OWN = ("tensor", "store", "dataset", "decode")
OF_LOADERS = ("loader", "epoch", "step")
LAYERS = (*OWN, *OF_LOADERS)


class Layer(Protocol):
    """What a layer's module has."""

    LABEL: str  # as shown to people
    PRIMARY: str  # the metric that conclusions are drawn from
    Settings: type[Any]  # a frozen dataclass; its first field is `data`

    def measure(self, settings: Any, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Measure; the fields of a run: values, gates, raw."""
        ...


def load(name: str) -> Layer:
    """Import one layer."""
    if name not in OWN:
        raise UsageError("no such layer", got=name, expected=f"one of {', '.join(LAYERS)}")
    return cast("Layer", import_module(f"penstock.bench.layers.{name}"))
