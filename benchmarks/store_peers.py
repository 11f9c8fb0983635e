"""The loaders that benchmarks/stores.py compares, each run a process of its own: a request in, an answer as JSON out.

All decode, crop to 224, resize and mirror. `boto3` is what people write first: a map-style dataset that gets an object
and decodes it, under a DataLoader. webdataset reads tar shards through curl and addresses that boto3 has signed, in its
documented way; streaming fetches MDS shards to a local folder that is empty at first.
"""

from __future__ import annotations

import io
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import penstock
from penstock.bench.cost import Cost
from penstock.bench.rehearsal import crop_box
from penstock.order import WindowShuffle
from penstock.storage.cache import Cache
from penstock.storage.location import Access, Requests
from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BATCH, SIZE = 64, 224
WINDOW = WindowShuffle(lanes=8, window_bytes=64 * 2**20)


def client(request: dict[str, Any]) -> Any:
    """Make boto3's client."""
    import boto3
    from botocore.config import Config

    config = Config(s3={"addressing_style": "path"}, response_checksum_validation="when_required")
    return boto3.client("s3", endpoint_url=request["endpoint"], region_name="us-east-1", config=config)


def pixels(data: bytes) -> Any:
    """Decode, crop, resize and mirror one image, as the plain peer of the races does."""
    import torch

    with Image.open(io.BytesIO(data)) as file:
        image = file.convert("RGB")
    image = image.crop(crop_box(*image.size)).resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    if random.random() < 0.5:  # noqa: S311 augmentation, not secrecy
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return torch.from_numpy(np.array(image).transpose(2, 0, 1))


def of_boto3(request: dict[str, Any]) -> Iterator[Iterable[Any]]:
    """Get objects one by one in worker processes."""
    from torch.utils.data import DataLoader, Dataset

    class Objects(Dataset[Any]):
        def __init__(self) -> None:
            self.keys, self.s3 = request["keys"], None

        def __len__(self) -> int:
            return len(self.keys)

        def __getitem__(self, number: int) -> Any:
            if self.s3 is None:  # a client of its own in every worker
                self.s3 = client(request)
            body = self.s3.get_object(Bucket=request["bucket"], Key=self.keys[number])["Body"]
            return pixels(body.read()), number

    for _ in range(request["epochs"]):
        yield (
            (images, ids.tolist())
            for images, ids in DataLoader(Objects(), batch_size=BATCH, shuffle=True, num_workers=4)
        )


def of_webdataset(request: dict[str, Any]) -> Iterator[Iterable[Any]]:
    """Read tar shards through curl."""
    import webdataset
    from torch.utils.data import DataLoader

    signed = [
        client(request).generate_presigned_url("get_object", {"Bucket": request["bucket"], "Key": key}, ExpiresIn=3600)
        for key in request["shards"]
    ]
    urls = [f"pipe:curl -s -f -L '{url}'" for url in signed]
    for _ in range(request["epochs"]):
        samples = webdataset.WebDataset(urls, shardshuffle=len(urls), nodesplitter=webdataset.split_by_node, seed=1)
        samples = samples.shuffle(500).map(lambda sample: (pixels(sample["jpg"]), sample["__key__"])).batched(BATCH)
        yield ((images, ids) for images, ids in DataLoader(samples, batch_size=None, num_workers=2))


def of_streaming(request: dict[str, Any]) -> Iterator[Iterable[Any]]:
    """Fetch MDS shards to a folder, and read them there."""
    from streaming import StreamingDataset
    from torch.utils.data import DataLoader

    os.environ["S3_ENDPOINT_URL"] = request["endpoint"]

    class Photos(StreamingDataset):
        def __getitem__(self, number: int) -> Any:
            sample = super().__getitem__(number)
            return pixels(sample["image"]), sample["id"]

    with tempfile.TemporaryDirectory() as local:
        dataset = Photos(remote=request["url"], local=local, shuffle=True, batch_size=BATCH)
        for stream in dataset.streams:
            # The client that fetched the index keeps its connection open. Workers are forks and would inherit both: two
            # that ask over one connection take each other's answers, or wait 60 s for them (LOG.md).
            stream._downloader.clean_up()  # noqa: SLF001  it is not offered otherwise
        for _ in range(request["epochs"]):
            yield ((images, ids.tolist()) for images, ids in DataLoader(dataset, batch_size=BATCH, num_workers=2))


class OfPenstock:
    """Load through penstock: loose objects by their list, or a packed dataset; with a cache if asked."""

    def __init__(self, request: dict[str, Any]) -> None:
        from penstock.torch import Loader

        limits = Requests(in_flight=request.get("in_flight", 128))
        options: dict[str, Any] = {"access": Access(endpoint=request["endpoint"], requests=limits)}
        if "cache" in request:
            options["cache"] = Cache(request["cache"], request["cache_bytes"])
        if "index" in request:
            dataset = penstock.open(request["index"], root=request["url"], classes=False, **options)
            dataset = dataset.select(np.arange(request["samples"]))
        else:
            dataset = penstock.open(request["url"], **options)
        crops, shuffle = [RandomResizedCrop(SIZE), RandomHorizontalFlip()], "full" if "index" in request else WINDOW
        self._loader = Loader(dataset, batch_size=BATCH, transforms=crops, shuffle=shuffle, seed=1)
        self._epochs = request["epochs"]

    def epochs(self) -> Iterator[Iterable[Any]]:
        """Give epochs of (images, ids)."""
        for batches in self._loader.epochs(self._epochs):
            yield (
                (batch.images if hasattr(batch, "images") else batch["image"], batch.ids.tolist()) for batch in batches
            )

    def statistics(self) -> dict[str, Any]:
        """Tell what was asked of the store so far."""
        told = self._loader.statistics()
        stores, caches = ([asdict(one) for one in found] for found in (told.stores, told.caches))
        return {"requested_bytes": told.requested_bytes, "stores": stores, "caches": caches}


def main() -> None:
    """Answer a request on stdout."""
    request = json.loads(sys.argv[1])
    ours = OfPenstock(request) if request["peer"] == "penstock" else None
    epochs = ours.epochs() if ours else PEERS[request["peer"]](request)
    found = []
    for batches in epochs:
        before, begin, ids = Cost.now(), time.perf_counter(), []
        for images, numbers in batches:
            assert images.shape[1:] == (3, SIZE, SIZE)
            ids += list(numbers)
        seconds, after = time.perf_counter() - begin, Cost.now()
        assert before is not None
        assert after is not None
        epoch = {"samples": len(ids), "distinct": len(set(ids)), "seconds": seconds}
        found.append(
            {**epoch, "cpu_seconds": after.cpu_seconds - before.cpu_seconds, **(ours.statistics() if ours else {})}
        )
    samples, seconds = (sum(epoch[part] for epoch in found) for part in ("samples", "seconds"))
    sys.stdout.write(
        json.dumps({"samples": samples, "seconds": seconds, "rate": samples / seconds, "epochs": found}) + "\n"
    )
    sys.stdout.flush()
    os._exit(0)


PEERS = {"boto3": of_boto3, "webdataset": of_webdataset, "streaming": of_streaming}

if __name__ == "__main__":
    main()
