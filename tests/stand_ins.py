"""Objects that look like torchvision's transforms: those are known by class name and module, never imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def stand_in(name: str, call: Callable[..., Any], **attributes: Any) -> Any:
    """Make an object that looks like torchvision's transform of that name and does `call`."""
    kind = type(
        name, (), {"__module__": "torchvision.transforms.v2._misc", "__call__": lambda self, *inputs: call(*inputs)}
    )
    transform = kind()
    vars(transform).update(attributes)
    return transform
