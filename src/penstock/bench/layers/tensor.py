"""Make batches and move them to the device: what is left when there is no dataset, no loader, no store.

    random_on_device   a batch of noise, made where it is used
    random_to_device   made in memory, then moved
    single_image       one image, opened, decoded, resized; a batch of it, moved
    random_image       a batch of random images, the same way
    processes          random_image by several processes, moved by this one

The device is warmed up with a batch before the clock starts (a first use of CUDA takes seconds), and waited for before
it stops. torch is imported by name: only this process needs it.
"""

from __future__ import annotations

import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench.case import Case
from penstock.bench.layers.calls import repeat
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["LABEL", "PRIMARY", "Settings", "measure"]

LABEL = "batches to the device"
PRIMARY = "batches_per_second"
ACTIONS = ("random_on_device", "random_to_device", "single_image", "random_image", "processes")
WARMUP = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """Which batches, moved where."""

    data: str  # an image folder; of the random actions nothing is read
    action: str = "random_to_device"
    device: str = "cpu"
    batch_size: int = 64
    size: int = 224
    pool: int = 4  # processes, of `processes`
    seconds: float = 3.0
    seed: int = 0


def measure(settings: Settings, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure one action."""
    if settings.action not in ACTIONS:
        raise UsageError("no such action", got=settings.action, expected=f"one of {', '.join(ACTIONS)}")
    torch = import_module("torch")
    if settings.device.startswith("cuda") and not torch.cuda.is_available():
        return {"refused": f"there is no device {settings.device} here"}
    shape = (settings.batch_size, 3, settings.size, settings.size)
    waits_for = torch.cuda.synchronize if settings.device.startswith("cuda") else None
    pool = ProcessPoolExecutor(settings.pool, get_context("spawn")) if settings.action == "processes" else None
    made = _maker(settings, torch, shape, pool)

    def call(number: int) -> int:
        batch = made(number)
        if waits_for is not None:
            waits_for()
        return int(batch.numel() * batch.element_size())

    try:
        done = repeat(call, seconds=settings.seconds, warmup=WARMUP, tell=tell)
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    values = done.values()
    batches = values["samples"]
    values |= {"batches_per_second": batches / done.seconds, "samples": batches * settings.batch_size}
    values |= {"samples_per_second": values["samples"] / done.seconds, "delivered_bytes": values.pop("payload_bytes")}
    for name in ("cpu_seconds_per_thousand", "requests_per_thousand"):
        if name in values:
            values[name] /= settings.batch_size
    return {"values": values}


def _maker(settings: Settings, torch: Any, shape: tuple[int, ...], pool: ProcessPoolExecutor | None) -> Any:
    """Make what makes batches by number."""
    device = settings.device
    if settings.action == "random_on_device":
        return lambda _: torch.rand(shape, device=device)
    if settings.action == "random_to_device":
        return lambda _: torch.rand(shape).to(device)
    files = [path for path, _ in Case.of(settings.data).files()]

    def images(number: int) -> Any:
        draws = random.Random(settings.seed * 2**32 + number)  # noqa: S311 a choice of images, no secret
        chosen = draws.choices(files, k=settings.batch_size)
        if settings.action == "single_image":
            chosen = files[:1] * settings.batch_size
        if pool is None:
            return torch.from_numpy(batch_of(chosen, settings.size)).to(device)
        parts = [chosen[start :: settings.pool] for start in range(settings.pool)]
        arrays = pool.map(batch_of, parts, [settings.size] * len(parts))
        return torch.from_numpy(np.concatenate(list(arrays))).to(device)

    return images


def batch_of(paths: list[str], size: int) -> NDArray[np.uint8]:
    """Open, decode and resize images; here or in a process of the pool."""
    image = import_module("PIL.Image")
    found = np.empty((len(paths), 3, size, size), np.uint8)
    for number, path in enumerate(paths):
        with image.open(path) as file:
            found[number] = np.asarray(file.convert("RGB").resize((size, size))).transpose(2, 0, 1)
    return found
