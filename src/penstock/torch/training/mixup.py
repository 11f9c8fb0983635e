"""Mixup: images and targets blended in pairs.

Which and how much is drawn from (seed, epoch, step), so that a resumed run draws the same again.
"""

from __future__ import annotations

import torch
from torch.nn import functional

__all__ = ["mixed"]


def mixed(
    images: torch.Tensor, labels: torch.Tensor, *, alpha: float, classes: int, draw: tuple[int, int, int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Blend each image with another of its batch, by a share from Beta(alpha, alpha); targets become shares of classes.

    `draw` is (seed, epoch, step).
    """
    seed, epoch, step = draw
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) * 1_000_003 + step & 0x7FFF_FFFF_FFFF_FFFF)
    gamma = torch._standard_gamma(torch.full((2,), alpha, dtype=torch.float64), generator)  # noqa: SLF001  Beta of two
    share = float(gamma[0] / gamma.sum())
    order = torch.randperm(len(images), generator=generator).to(images.device)
    targets = functional.one_hot(labels, classes).to(images.dtype)
    return images.lerp(images[order], 1 - share), targets.lerp(targets[order], 1 - share)
