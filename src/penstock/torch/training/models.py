"""Small, plain models, so that the trainers run without torchvision.

Residual networks, one of AlexNet's size, and a column of 3-D convolutions for clips. Where torchvision is installed,
all of its models are there, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OWN", "clip_model", "image_model"]


class Residual(nn.Module):
    """Two 3x3 convolutions, or with a bottleneck 1x1, 3x3, 1x1, added to what came in."""

    def __init__(self, given: int, width: int, out: int, stride: int, *, is_deep: bool) -> None:
        super().__init__()
        shapes = [(given, width, 1, 1), (width, width, 3, stride), (width, out, 1, 1)]
        if not is_deep:
            shapes = [(given, width, 3, stride), (width, out, 3, 1)]
        layers: list[nn.Module] = []
        for before, after, side, step in shapes:
            layers += [nn.Conv2d(before, after, side, step, side // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        self.body = nn.Sequential(*layers[:-1])
        last = layers[-2]
        assert isinstance(last, nn.BatchNorm2d)
        nn.init.zeros_(last.weight)  # each block begins as the identity, which trains better
        same = given == out and stride == 1
        self.way = (
            nn.Identity() if same else nn.Sequential(nn.Conv2d(given, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Add the two ways."""
        return torch.relu(self.body(images) + self.way(images))


def _residual(counts: tuple[int, ...], *, is_deep: bool, width: int = 64) -> Callable[[int], nn.Module]:
    def build(classes: int) -> nn.Module:
        layers: list[nn.Module] = [
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]
        given = width
        for stage, count in enumerate(counts):
            inner = width * 2**stage
            out = inner * (4 if is_deep else 1)
            for block in range(count):
                stride = 2 if stage and not block else 1
                layers.append(Residual(given, inner, out, stride, is_deep=is_deep))
                given = out
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(given, classes))

    return build


def _alexnet(classes: int) -> nn.Module:
    shapes = [(3, 64, 11, 4, 2), (64, 192, 5, 1, 2), (192, 384, 3, 1, 1), (384, 256, 3, 1, 1), (256, 256, 3, 1, 1)]
    layers: list[nn.Module] = []
    for number, (before, after, side, stride, rim) in enumerate(shapes):
        layers += [nn.Conv2d(before, after, side, stride, rim), nn.ReLU()]
        if number in {0, 1, 4}:
            layers.append(nn.MaxPool2d(3, 2))
    wide = [nn.Dropout(), nn.Linear(256 * 36, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(6), nn.Flatten(), *wide, nn.Linear(4096, classes))


OWN: dict[str, Callable[[int], nn.Module]] = {
    "resnet10-small": _residual((1, 1, 1, 1), is_deep=False, width=16),  # for a processor without a GPU
    "resnet18": _residual((2, 2, 2, 2), is_deep=False),
    "resnet50": _residual((3, 4, 6, 3), is_deep=True),
    "alexnet": _alexnet,
}


def image_model(name: str, classes: int) -> nn.Module:
    """Make a model: torchvision's of that name where it is installed, else our own."""
    try:
        from torchvision import models  # noqa: PLC0415  an option
    except (ImportError, RuntimeError):  # the latter: a torchvision that was built for another torch
        models = None
    if models is not None and name in models.list_models(module=models):
        found: nn.Module = models.get_model(name, num_classes=classes)
        return found
    if name in OWN:
        return OWN[name](classes)
    more = "" if models is not None else "; with torchvision installed, any of its models"
    raise UsageError("the model is unknown", got=repr(name), expected=", ".join(OWN) + more)


def clip_model(classes: int, *, frames: int = 18, side: int = 84) -> nn.Module:
    """Make a column of four 3-D convolutions and two linear layers."""
    layers: list[nn.Module] = []
    given = 3
    for number, out in enumerate((64, 128, 256, 256)):
        pool = (1, 2, 2) if number == 0 else (2, 2, 2)
        layers += [
            nn.Conv3d(given, out, 3, padding=1),
            nn.BatchNorm3d(out),
            nn.ELU(),
            nn.MaxPool3d(pool, ceil_mode=True),
        ]
        given = out
    column = nn.Sequential(*layers, nn.Flatten())
    with torch.no_grad():
        size = column.eval()(torch.zeros(1, 3, frames, side, side)).shape[1]
    return nn.Sequential(column.train(), nn.Linear(size, 512), nn.ELU(), nn.Linear(512, classes))
