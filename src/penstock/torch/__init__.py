"""penstock for PyTorch: the only room of the library that imports torch.

`Loader` gives batches of tensors: the same samples, order and pixels as `penstock.Loader`, on any device. `Dataset` is
for a stock `torch.utils.data.DataLoader`.
"""

from penstock.torch.dataset import Dataset
from penstock.torch.loader import Loader

__all__ = ["Dataset", "Loader"]
