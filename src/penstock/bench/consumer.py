"""A training step to feed: a real model's forward and backward pass on every batch, and an optimizer's step.

It is `penstock.torch.training`'s model, so this needs penstock and torch in the process: peers that live in an
environment of their own cannot have it. On a GPU the step ends when the GPU has finished it, or the clock would only
see how fast kernels are launched.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CLASSES", "training_step"]

CLASSES = 100


def training_step(model: str, device: str) -> Callable[[Any], None]:
    """Make the step. By name, for no room of this floor may know torch; the labels are of no meaning."""
    torch, training = import_module("torch"), import_module("penstock.torch.training")
    network = training.image_model(model, CLASSES).to(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)

    def step(batch: Any) -> None:
        images, ids = batch
        pixels = torch.as_tensor(np.asarray(images)) if not torch.is_tensor(images) else images
        if pixels.shape[1] != 3:
            pixels = pixels.permute(0, 3, 1, 2)
        labels = torch.as_tensor(np.asarray(ids) % CLASSES, device=device)
        loss = torch.nn.functional.cross_entropy(network(pixels.to(device).float().div(255)), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if device.startswith("cuda"):
            torch.cuda.synchronize()

    return step
