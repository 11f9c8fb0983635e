"""Plots as files: SVG that stands alone, and PNG that looks like it."""

from __future__ import annotations

import io
import sys
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from penstock.errors import UsageError
from penstock.report import figures, studies, write_png, write_svg
from penstock.report.colours import PALETTE
from penstock.report.files import as_png, as_svg
from tests.report.made import race


@pytest.fixture(scope="module")
def drawn():
    return figures(studies([race()]), "torchvision")


def test_an_svg_file_stands_alone(drawn):
    for figure in drawn:
        tree = ET.fromstring(as_svg(figure))
        assert tree.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in as_svg(figure)
        texts = [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]
        assert texts[0] == figure.title


def test_lines_have_their_names_in_the_file(drawn):
    (waits,) = [figure for figure in drawn if figure.name == "waits"]
    texts = [text.text for text in ET.fromstring(as_svg(waits)).iter("{http://www.w3.org/2000/svg}text")]
    assert {line.name for line in waits.lines} <= set(texts)


def test_a_png_has_the_colours_of_its_plot_and_words(drawn):
    (bars,) = [figure for figure in drawn if figure.name == "bars-samples-per-second"]
    for theme in ("light", "dark"):
        image = Image.open(io.BytesIO(as_png(bars, theme))).convert("RGB")
        counts = {"#" + bytes(colour).hex(): many for many, colour in image.getcolors(1 << 24)}
        dark = theme == "dark"
        assert counts[PALETTE["ours"][dark]] > 10_000
        assert counts[PALETTE["other"][dark]] > 1_000
        assert max(counts, key=counts.get) == PALETTE["paper"][dark]
        heading = image.crop((40, 40, 700, 90)).getcolors(1 << 16)
        assert len(heading) > 10, "no words: no font was found"


def test_every_plot_becomes_a_file_of_its_name(drawn, tmp_path):
    made = write_svg(drawn, tmp_path / "svg") + write_png(drawn[:2], tmp_path / "png")
    assert [path.name for path in made[:2]] == ["bars-samples-per-second.svg", "ratios.svg"]
    assert [path.name for path in made[-2:]] == ["bars-samples-per-second.png", "ratios.png"]
    assert all(path.stat().st_size > 1000 for path in made)


def test_without_the_library_the_error_says_what_to_install(drawn, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(UsageError, match=r"penstock\[report\]"):
        as_png(drawn[0])
