"""penstock packs image datasets and feeds training from them as fast as the hardware allows.

`pack` turns a folder of images into a packed dataset. `open` opens one, or a folder as it is: len, dataset[i], columns,
views. `Loader` gives its samples as batches, epoch after epoch. `verify` checks every checksum, tar member and index
row of a packed dataset; `export` gives the files back.
"""

from penstock.dataset import Dataset
from penstock.dataset import open_dataset as open  # noqa: A004 - penstock.open reads as what it does
from penstock.export import export
from penstock.loader import Loader
from penstock.pack import pack
from penstock.verify import verify

__all__ = ["Dataset", "Loader", "export", "open", "pack", "verify"]
