"""Colours stand out from the paper, and plots in files have no variables left."""

from __future__ import annotations

import re

import pytest

from penstock.report.colours import PALETTE, file_style, page_style

TEXT = {"ink", "soft", "ours", "warn", "good"}  # words are written in these
LINES = set(PALETTE) - TEXT - {"paper", "panel", "rule"}


def luminance(colour):
    """By the definition of WCAG 2."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", sorted(TEXT))
@pytest.mark.parametrize("ground", ["paper", "panel"])
def test_words_stand_out(name, ground, theme):
    assert contrast(PALETTE[name][theme], PALETTE[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", sorted(LINES))
def test_lines_and_bars_stand_out(name, theme):
    assert contrast(PALETTE[name][theme], PALETTE["paper"][theme]) >= 3


def test_the_page_takes_every_colour_of_a_plot_from_the_palette():
    style = page_style()
    assert set(re.findall(r"var\(--(\w+)\)", style)) <= {*PALETTE, "series", "dash"}


def test_the_style_of_a_file_needs_no_variables_and_has_both_themes():
    style = file_style()
    assert "var(" not in style
    assert "light-dark" not in style
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    assert PALETTE["ours"][0] in light
    assert PALETTE["ours"][1] in dark
    assert style.count("{") == style.count("}")
