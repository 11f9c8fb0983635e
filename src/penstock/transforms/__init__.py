"""Transforms with torchvision's names, arguments and defaults: geometry for the decoder, arithmetic for the batch.

`ClipSample` is the one that torchvision has not: which frames of a clip are read at all.
"""

from penstock.transforms.clip import ClipSample
from penstock.transforms.crop import CenterCrop, RandomCrop, RandomResizedCrop
from penstock.transforms.flip import RandomHorizontalFlip
from penstock.transforms.normalize import Normalize, ToDtype
from penstock.transforms.plan import Plan
from penstock.transforms.resize import Resize

__all__ = [
    "CenterCrop",
    "ClipSample",
    "Normalize",
    "Plan",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "Resize",
    "ToDtype",
]
