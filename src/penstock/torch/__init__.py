"""penstock for PyTorch: the only room of the library that imports torch.

`Loader` gives batches of tensors: the same samples, order and pixels as `penstock.Loader`, on any device. `Dataset` is
for a stock `torch.utils.data.DataLoader`. `ConcurrentLoader` is for datasets that are not penstock's: it keeps many of
their items under way at a time.
"""

from penstock.torch.concurrent import ConcurrentLoader
from penstock.torch.dataset import Dataset
from penstock.torch.loader import Loader

__all__ = ["ConcurrentLoader", "Dataset", "Loader"]
