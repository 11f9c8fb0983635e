"""penstock packs image datasets and feeds training from them as fast as the hardware allows.

`pack` turns a folder of images into a packed dataset. `open` opens one, or a folder as it is: len, dataset[i], columns,
views. `Loader` gives its samples as batches, epoch after epoch; `penstock.torch.Loader` gives tensors. `verify` checks
every checksum, tar member and index row of a packed dataset; `export` gives the files back.

The house, highest floor first. A room uses the floors below it and none of its neighbours.

    cli/          one file per verb
    report/       results → people
    testing/      photographs, real servers, faults
    bench/        measure and race
    results/      what was measured, and what it comes to
    torch/        tensors; the only room of the library that imports torch
    ray.py        packing on a Ray cluster
    loader.py     READ PATH: order → read → decode → batch
    pack.py       WRITE PATH: ingest → transcode → shard → storage
    verify.py     is a packed dataset what its index says?
    export/       the files back out, also as others keep them
    sizes.py      what a dataset takes on disk, part by part
    decoding.py   pixels of a batch, field by field
    publishing.py finished shards → index, manifest
    planning.py   all about a batch that is known before reading
    joined.py     several datasets as one
    selection.py  which fields a batch has
    reading.py    encoded bytes, batch by batch or window by window
    opening.py    the dataset at a path or a URL
    frame_choice.py  which frames of its clips a sample shows
    dataset.py    storage + shard: open, read samples by id
    writer.py     samples → finished shards, resumably
    extension.py  a packed dataset that is added to
    filling.py    reads of samples, and what became of them
    packed.py     the index of a packed dataset, wherever it is
    work.py       the work of packing, and who does it
    claim.py      a place got ready to be packed into
    ingest/       foreign data → records
    pieces.py     what is read of a sample: an image, some frames of a clip
    sample.py     one sample, for looking at
    storage/      bytes at a path, plans of what to read
    shard/        what is inside files, no I/O
    order/        which sample next, pure
    decode/       encoded bytes → pixels
    transforms/   geometry for the decoder, values for the batch
    pipeline/     bounded stages, any cargo
    types.py      frozen values that pass between rooms
    errors.py     the tree of errors
"""

from importlib.metadata import version

from penstock.dataset import Dataset
from penstock.export import export
from penstock.ingest.object_lister import index_objects
from penstock.joined import join
from penstock.loader import Loader, verify_resume
from penstock.opening import open_dataset as open  # noqa: A004 - penstock.open reads as what it does
from penstock.order import FullShuffle, InStorageOrder, Mixture, WeightedSampling, WindowShuffle
from penstock.pack import pack
from penstock.pipeline import Trace
from penstock.storage.cache import Cache
from penstock.storage.location import Access, Requests
from penstock.verify import verify

__all__ = [
    "Access",
    "Cache",
    "Dataset",
    "FullShuffle",
    "InStorageOrder",
    "Loader",
    "Mixture",
    "Requests",
    "Trace",
    "WeightedSampling",
    "WindowShuffle",
    "__version__",
    "export",
    "index_objects",
    "join",
    "open",
    "pack",
    "verify",
    "verify_resume",
]

__version__ = version("penstock")
