"""The moving average of a model's weights, which often does better than the weights themselves. Off by default."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import nn

__all__ = ["WeightAverage"]


class WeightAverage:
    """A second model whose weights follow the first one's: each step `decay` of what it had, and the rest anew."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(requires_grad=False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Follow a step. Counters and other whole numbers are taken over as they are."""
        for mine, new in zip(self.model.state_dict().values(), model.state_dict().values(), strict=True):
            if mine.is_floating_point():
                mine.lerp_(new, 1 - self.decay)
            else:
                mine.copy_(new)

    def state_dict(self) -> dict[str, Any]:
        """Give the weights."""
        return self.model.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take weights over."""
        self.model.load_state_dict(state)
