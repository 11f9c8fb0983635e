"""Colours of the page and of plots, light and dark, each once; and the styles of plots for files of their own.

On a page, colours are CSS variables that follow the reader's choice of light or dark. A file cannot rely on that: an
SVG gets both sets and a media query, a PNG one of them. Hues are those of Okabe and Ito, darkened or lightened until
each stands out by 3:1 from the paper, and text by 4.5:1: tests hold that.

Systems are numbered. A number is a colour, a dash and a shape, so that no two of them are told apart by hue alone.
"""

from __future__ import annotations

import re
from importlib import resources

__all__ = ["PALETTE", "SERIES", "file_style", "page_style"]

SERIES = 8  # colours; dashes and shapes go on

# Name → light, dark.
PALETTE = {
    "ink": ("#1b2430", "#e7ecf2"),
    "soft": ("#556070", "#a3afbd"),
    "paper": ("#ffffff", "#12171e"),
    "panel": ("#f5f7fa", "#1a212b"),
    "rule": ("#dde3ea", "#2c3643"),
    "ours": ("#0072b2", "#56b4e9"),
    "other": ("#7d8896", "#8391a2"),
    "bound": ("#a86a00", "#e69f00"),
    "warn": ("#a83f00", "#ff9d5c"),
    "good": ("#006b4f", "#3ccf9f"),
    "s0": ("#0072b2", "#56b4e9"),
    "s1": ("#c14f00", "#ff8c42"),
    "s2": ("#00795a", "#2fcf9f"),
    "s3": ("#a3417a", "#e79ac6"),
    "s4": ("#8a6a00", "#e8c93a"),
    "s5": ("#4f4aa8", "#aaa5ff"),
    "s6": ("#8c2f2f", "#ff9a9a"),
    "s7": ("#4a5665", "#b7c4d4"),
}
DASHES = ("none", "7 3", "2 3", "9 3 2 3")

_ROOM = resources.files("penstock.report")


def _read(name: str) -> str:
    return _ROOM.joinpath(name).read_text("utf-8")


def _series() -> str:
    """Write the rules that give numbers their colours and dashes."""
    rules = []
    for number in range(SERIES * len(DASHES)):
        colour = f"var(--s{number % SERIES})"
        rules.append(f".s{number} {{ --series: {colour}; --dash: {DASHES[number // SERIES]}; }}")
    return "\n".join(rules) + "\n"


def page_style() -> str:
    """Write the style sheet of a page."""
    names = " ".join(f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items())
    return f":root {{ color-scheme: light dark; {names} }}\n{_series()}{_read('plots.css')}{_read('page.css')}"


def file_style(theme: str = "both") -> str:
    """Write the style sheet of a plot in a file: "light", "dark", or "both" with a media query.

    Without variables, which few programs but browsers know.
    """
    if theme == "both":
        return f"{file_style('light')}@media (prefers-color-scheme: dark) {{\n{file_style('dark')}}}\n"
    chosen = {name: pair[theme == "dark"] for name, pair in PALETTE.items()}
    rules = []
    for rule in re.findall(r"[^{}]+\{[^}]*\}", re.sub(r"/\*.*?\*/", "", _read("plots.css"), flags=re.DOTALL)):
        if "var(--series)" in rule or "var(--dash)" in rule:
            rules += [_numbered(rule, number) for number in range(SERIES * len(DASHES))]
        else:
            rules.append(rule)
    written = "".join(rules).strip() + "\n"
    return re.sub(r"var\(--(\w+)\)", lambda found: chosen[found[1]], written)


def _numbered(rule: str, number: int) -> str:
    """Give one system's rule, from one for all: for marks within its group."""
    selectors, _, rest = rule.strip().partition("{")
    own = ", ".join(f".s{number} {one.strip()}, .s{number}{one.strip()}" for one in selectors.split(","))
    rest = rest.replace("var(--series)", f"var(--s{number % SERIES})").replace("var(--dash)", DASHES[number // SERIES])
    return f"\n{own} {{{rest}"
