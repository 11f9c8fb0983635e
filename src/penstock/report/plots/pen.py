"""The pieces of SVG that plots are made of: elements, words, points that can be stepped to, and the frame around."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NARROW", "framed", "is_narrow", "point", "shape", "shorten", "tag", "text", "width_of"]

NARROW = 560  # drawings less wide than this are laid out for phones
CHARACTER = 7.6  # the width of one, about, at 13 pixels
SHAPES = ("circle", "square", "diamond", "up", "down", "cross")


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return escape(str(value), quote=True)


def tag(name: str, inside: str = "", /, **attributes: object) -> str:
    """Write an element. `class_` and the like lose their underscore, others become hyphens; None is left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_written(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>"


def text(x: float, y: float, words: str, kind: str = "text") -> str:
    """Write words at a place."""
    return tag("text", escape(words), x=float(x), y=float(y), class_=kind)


def point(label: str, inside: str, *, kind: str = "", data: Mapping[str, float | str]) -> str:
    """Put marks into a group that can be stepped to; its label says what it means, its data hold the numbers."""
    exact = {f"data_{name}": repr(value) if isinstance(value, float) else value for name, value in data.items()}
    return tag("g", inside, class_=f"point {kind}".strip(), role="img", tabindex="-1", aria_label=label, **exact)


def shape(number: int, x: float, y: float, size: float = 4.5, kind: str = "mark") -> str:
    """Draw the mark of a system, which its number chooses."""
    name, s = SHAPES[number % len(SHAPES)], size
    if name == "circle":
        return tag("circle", cx=x, cy=y, r=s, class_=kind)
    third, wide = f"{2 * s / 3:.1f}", 1.3 * s
    left, right, top, bottom = f"{x - s:.1f}", f"{x + s:.1f}", f"{y - s:.1f}", f"{y + s:.1f}"
    arms = f"h{third}v-{third}h{third}v{third}h{third}v{third}h-{third}v{third}h-{third}v-{third}h-{third}z"
    path = {
        "square": f"M{left} {top}H{right}V{bottom}H{left}z",
        "diamond": f"M{x - wide:.1f} {y:.1f}L{x:.1f} {y - wide:.1f}L{x + wide:.1f} {y:.1f}L{x:.1f} {y + wide:.1f}z",
        "up": f"M{x:.1f} {top}L{right} {bottom}H{left}z",
        "down": f"M{x:.1f} {bottom}L{right} {top}H{left}z",
        "cross": f"M{left} {y - s / 3:.1f}{arms}",
    }[name]
    return tag("path", d=path, class_=kind)


def is_narrow(width: int) -> bool:
    """Whether to lay out for a phone."""
    return width < NARROW


def width_of(words: str) -> float:
    """Guess how wide words are."""
    return CHARACTER * len(words)


def shorten(words: str, room: float) -> str:
    """Cut words that would be wider than the room; their mark's label has them whole."""
    fitting = max(int(room / CHARACTER), 2)
    return words if len(words) <= fitting else words[: fitting - 1] + "…"


def framed(parts: Iterable[str], *, width: int, height: float, title: str) -> str:
    """Put parts into an SVG of this size. It is a group of points, named by its title."""
    return tag(
        "svg",
        "".join(parts),
        class_=f"plot {'narrow' if is_narrow(width) else 'wide'}",
        viewBox=f"0 0 {width} {height:.0f}",
        role="group",
        aria_label=title,
    )
