"""Grain on the untouched folder: a global shuffle without an array, worker processes, Pillow.

Its worker processes live as long as one iterator, so the dataset is repeated without end, anew shuffled each time, and
cut into epochs here; a batch that straddles two epochs is cut in two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.bench.rehearsal import crop_box

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.bench.case import Case

LABEL = "Grain"
SETTINGS = "MapDataset.shuffle, random_map, mp_prefetch (process per CPU, on into the next epoch); Pillow; uint8 HWC"
DISTRIBUTIONS = ("grain", "numpy", "pillow")
MODULES = ("grain",)


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Read the folder as it is."""
    del case
    return None, False


class Crop:
    """Decodes, crops, resizes and flips; at module level, because it is sent to processes."""

    def __init__(self, paths: list[str], size: int) -> None:
        self.paths, self.size = paths, size

    def __call__(self, sample: int, random: Any) -> Any:
        """Make one sample."""
        import numpy as np
        from PIL import Image

        with Image.open(self.paths[sample]) as file:
            image = file.convert("RGB")
        box = crop_box(*image.size, Draws(random))
        image = image.crop(box).resize((self.size, self.size), Image.Resampling.BILINEAR)
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return np.asarray(image), np.int64(sample)


class Draws:
    """NumPy's generator under the names of `random`."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def uniform(self, low: float, high: float) -> float:
        """Draw a number."""
        return float(self._generator.uniform(low, high))

    def randint(self, low: int, high: int) -> int:
        """Draw a whole number, both ends included."""
        return int(self._generator.integers(low, high + 1))


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    import grain

    paths = [path for path, _ in case.files()]
    dataset = (
        grain.MapDataset.range(len(paths))
        .shuffle(seed=case.seed)
        .repeat()
        .random_map(Crop(paths, case.size), seed=case.seed)
        .batch(case.batch_size)
        .to_iter_dataset()
        .mp_prefetch(grain.MultiprocessingOptions(num_workers=case.workers, per_worker_buffer_size=1))
    )
    batches = iter(dataset)
    rest: list[Any] = []

    def epoch() -> Iterator[Any]:
        left = len(paths)
        while left:
            images, ids = rest.pop() if rest else next(batches)
            if len(ids) > left:
                rest.append((images[left:], ids[left:]))
                images, ids = images[:left], ids[:left]
            left -= len(ids)
            yield images, ids

    while True:
        yield epoch()
