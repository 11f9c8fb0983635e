"""The ceiling of whole-image loaders: libjpeg-turbo decodes every image completely, on all workers, and nothing else.

No reading (the files are in memory before the clock starts), no crop, no resize, no flip, no batch: a loader that
decodes whole images can approach this rate but not pass it. One thread per worker takes images in turn and decodes them
into a buffer of its own; the decoder (simplejpeg, libjpeg-turbo 3) releases the interpreter lock while it works.
"""

from __future__ import annotations

import queue
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "libjpeg-turbo, decoding only"
SETTINGS = "files in memory, one thread per worker, simplejpeg.decode_jpeg into one reused buffer per thread"
DISTRIBUTIONS = ("simplejpeg",)
MODULES = ("simplejpeg",)
DELIVERS = "ids"


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Read the folder as it is."""
    del case
    return None, False


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs of ids whose images have been decoded."""
    import simplejpeg

    encoded = [Path(path).read_bytes() for path, _ in case.files()]
    sizes = [simplejpeg.decode_jpeg_header(data)[:2] for data in encoded]
    largest = max(height * width * 3 for height, width in sizes)
    random = np.random.default_rng(case.seed)

    def work(batches: queue.SimpleQueue[Any], done: queue.SimpleQueue[Any]) -> None:
        space = np.empty(largest, np.uint8)
        while (ids := batches.get()) is not None:
            for sample in ids:
                height, width = sizes[sample]
                into = space[: height * width * 3].reshape(height, width, 3)
                simplejpeg.decode_jpeg(encoded[sample], buffer=into)
            done.put(ids)

    def epoch() -> Iterator[tuple[Any, Any]]:
        batches: queue.SimpleQueue[Any] = queue.SimpleQueue()
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # Pieces of 8: with a batch each, one thread would idle at the end of a short epoch.
        pieces = np.split(order := random.permutation(len(encoded)), range(8, len(order), 8))
        for piece in pieces:
            batches.put(piece)
        threads = [threading.Thread(target=work, args=(batches, done), daemon=True) for _ in range(case.workers)]
        for thread in threads:
            batches.put(None)
            thread.start()
        for _ in pieces:
            yield None, done.get()
        for thread in threads:
            thread.join()

    while True:
        yield epoch()
