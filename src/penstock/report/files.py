"""Plots as files of their own: SVG, which follows the reader's light or dark, and PNG, for where SVG is not taken.

PNG are drawn from the same SVG by resvg (extra `report`), with the fonts that this machine has.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.report.colours import file_style
from penstock.report.plots import Curves
from penstock.report.plots.pen import tag, text

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from penstock.report.figures import Figure

__all__ = ["as_png", "as_svg", "write_png", "write_svg"]

WIDTH = 860
MARGIN = 24
HEADING = 34
SCALE = 2  # PNG pixels per unit: for screens with fine pixels


def as_svg(figure: Figure, theme: str = "both") -> str:
    """Draw a figure as a whole SVG file: its title, its plot, its colours."""
    plot = figure.plot
    inner = plot.svg(WIDTH, has_key=True) if isinstance(plot, Curves) else plot.svg(WIDTH)
    found = re.match(r'<svg[^>]*viewBox="0 0 (\d+) (\d+)"[^>]*>(.*)</svg>$', inner, flags=re.DOTALL)
    assert found is not None
    width, height = int(found[1]) + 2 * MARGIN, int(found[2]) + 2 * MARGIN + HEADING
    moved = tag("g", found[3], transform=f"translate({MARGIN} {MARGIN + HEADING})")
    parts = [
        f"<style>{file_style(theme)}</style>",
        tag("rect", width=width, height=height, class_="paper"),
        text(MARGIN, MARGIN + 14, figure.title, "text heading"),
        moved,
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{_quoted(figure.title)}">{"".join(parts)}</svg>\n'
    )


def _quoted(words: str) -> str:
    return words.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def as_png(figure: Figure, theme: str = "light") -> bytes:
    """Draw a figure as PNG."""
    try:
        import resvg_py  # noqa: PLC0415 an extra
    except ImportError as error:
        hint = "pip install 'penstock[report]', or write SVG"
        raise UsageError("PNG is drawn by resvg, which is not installed", got=str(error), hint=hint) from error
    family = "DejaVu Sans"
    drawn = resvg_py.svg_to_bytes(
        svg_string=as_svg(figure, theme), zoom=SCALE, font_family=family, sans_serif_family=family
    )
    return bytes(drawn)


def write_svg(figures: Sequence[Figure], folder: str | os.PathLike[str]) -> list[Path]:
    """Write each figure as FOLDER/its-name.svg."""
    return [_write(folder, f"{figure.name}.svg", as_svg(figure).encode()) for figure in figures]


def write_png(figures: Sequence[Figure], folder: str | os.PathLike[str]) -> list[Path]:
    """Write each figure as FOLDER/its-name.png."""
    return [_write(folder, f"{figure.name}.png", as_png(figure)) for figure in figures]


def _write(folder: str | os.PathLike[str], name: str, data: bytes) -> Path:
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
