"""Transforms with torchvision's names, arguments and defaults: geometry for the decoder, arithmetic for the batch."""

from penstock.transforms.crop import CenterCrop, RandomCrop, RandomResizedCrop
from penstock.transforms.flip import RandomHorizontalFlip
from penstock.transforms.normalize import Normalize, ToDtype
from penstock.transforms.plan import Plan
from penstock.transforms.resize import Resize

__all__ = [
    "CenterCrop",
    "Normalize",
    "Plan",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "Resize",
    "ToDtype",
]
