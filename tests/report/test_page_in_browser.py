"""The page in a real browser: what is drawn, for eyes, fingers, keyboards and screen readers."""

from __future__ import annotations

import base64
import io
import itertools
import json
from statistics import median

import pytest
from PIL import Image

from penstock.report import page
from penstock.report.colours import PALETTE
from penstock.results import to_json
from tests.report.made import race, sweep

# Everything that somebody sees of a kind, from what is really laid out.
SEEN = "[...document.querySelectorAll('{}')].filter((one) => one.getClientRects().length)"


@pytest.fixture(scope="module")
def result():
    return race()


@pytest.fixture(scope="module")
def pages(result, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    (folder / "race.html").write_text(page(result, against="torchvision"))
    (folder / "sweep.html").write_text(page(sweep()))
    (folder / "both.html").write_text(page(result, race(seed=9), sweep(), names=["before", "after", "stores"]))
    return folder


@pytest.fixture
def tab(browser):
    with browser.tab() as tab:
        tab.resize(1100)
        tab.prefer("light")
        yield tab


@pytest.mark.parametrize("name", ["race.html", "sweep.html", "both.html"])
@pytest.mark.parametrize("width", [360, 1100])
def test_it_opens_without_complaint_asks_nobody_and_does_not_scroll_sideways(tab, pages, name, width):
    tab.resize(width, is_phone=width < 600)
    tab.open(pages / name)
    assert tab.errors == []
    assert [address for address in tab.requests if not address.startswith("file:")] == []
    assert len(tab.requests) == 1
    assert tab.ask("document.documentElement.scrollWidth") <= width
    outside = tab.ask(
        SEEN.format("main > section > *, figure > *, .point")
        + ".filter((one) => { const box = one.getBoundingClientRect();"
        + f" return box.width && (box.left < -1 || box.right > {width + 1}) }})"
        + ".map((one) => one.outerHTML.slice(0, 200))"
    )
    assert outside == []


WORDS = """
[...document.querySelectorAll('figure > .plot')].filter((plot) => plot.getClientRects().length).map((plot) =>
  [plot.closest('figure').id, plot.getBoundingClientRect().toJSON(),
   [...plot.querySelectorAll('text')].filter((one) => one.textContent.trim())
     .map((one) => [one.textContent, one.getBoundingClientRect().toJSON()])])
"""
ROWS = ("bars", "ratios", "cache", "device", "heat")  # where no word may lie on another


@pytest.mark.parametrize("name", ["race.html", "sweep.html"])
@pytest.mark.parametrize("width", [360, 1100])
def test_words_stay_within_their_plot_and_off_each_other(tab, pages, name, width):
    tab.resize(width, is_phone=width < 600)
    tab.open(pages / name)
    for figure, plot, words in tab.ask(WORDS):
        for text, box in words:
            assert plot["left"] - 2 <= box["left"], (figure, text)
            assert box["right"] <= plot["right"] + 2, (figure, text)
        if figure.startswith(ROWS):
            for (one, a), (other, b) in itertools.combinations(words, 2):
                apart = a["right"] <= b["left"] + 1 or b["right"] <= a["left"] + 1
                assert apart or a["bottom"] <= b["top"] + 4 or b["bottom"] <= a["top"] + 4, (figure, one, other)


def test_bars_are_drawn_as_long_as_the_medians_of_the_result(tab, pages, result):
    tab.open(pages / "race.html")
    rows = tab.ask(
        SEEN.format("#bars-samples-per-second .bar-row")
        + ".map((row) => [row.dataset.name, Number(row.dataset.value),"
        + " row.querySelector('.bar').getBoundingClientRect().width])"
    )
    system = {"penstock, packed": "penstock", "penstock, packed, run 2": "penstock#2"}
    system |= {
        "torchvision ImageFolder and DataLoader": "torchvision",
        "decoding <whole> images & nothing else": "turbo",
    }
    assert len(rows) == 4
    per_unit = rows[0][2] / rows[0][1]
    for name, value, length in rows:
        assert value == median(result.values(system[name], "samples_per_second").values())
        assert length == pytest.approx(value * per_unit, abs=1)


def test_points_lie_where_the_axis_says(tab, pages, result):
    """Two numbers at the axis give the scale; every mark of the blocks is held against it."""
    tab.open(pages / "race.html")
    ticks = tab.ask(
        SEEN.format("#blocks text.end")
        + ".map((tick) => [Number(tick.textContent.replaceAll(',', '')),"
        + " (({ top, bottom }) => (top + bottom) / 2)(tick.getBoundingClientRect())])"
        + ".filter(([value]) => !Number.isNaN(value))"
    )
    (zero, bottom), (top_value, top) = ticks[0], ticks[-2]
    marks = tab.ask(
        SEEN.format("#blocks .point")
        + ".map((point) => [point.dataset.name, Number(point.dataset.x), Number(point.dataset.y),"
        + " (({ top, bottom }) => (top + bottom) / 2)(point.querySelector('.hit').getBoundingClientRect())])"
    )
    assert len(marks) == 23  # 4 systems in 6 blocks, one of which hung
    for name, block, value, y in marks:
        expected = bottom + (value - zero) / (top_value - zero) * (top - bottom)
        assert y == pytest.approx(expected, abs=2)
        if name == "penstock, packed":
            assert value == result.values("penstock", "samples_per_second")[block - 1]


@pytest.mark.parametrize(("scheme", "at"), [("light", 0), ("dark", 1)])
def test_it_follows_the_readers_light_or_dark(tab, pages, scheme, at):
    tab.prefer(scheme)
    tab.open(pages / "race.html")
    colours = tab.ask(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
        "getComputedStyle(document.querySelector('.bar.ours')).fill]"
    )
    expected = [tuple(bytes.fromhex(PALETTE[name][at][1:])) for name in ("paper", "ink", "ours")]
    assert colours == [f"rgb({r}, {g}, {b})" for r, g, b in expected]
    image = Image.open(io.BytesIO(tab.picture(whole=False))).convert("RGB")
    assert image.getpixel((3, 3)) == expected[0]


def test_light_or_dark_can_be_chosen(tab, pages):
    tab.open(pages / "race.html")
    ground = "getComputedStyle(document.body).backgroundColor"
    system = tab.ask(ground)
    tab.ask("document.getElementById('theme').focus()")
    tab.press("Enter", times=2)
    assert tab.ask("document.getElementById('theme').textContent") == "Colours: dark"
    assert tab.ask(ground) != system


def test_the_keyboard_reaches_every_plot_and_walks_its_points(tab, pages):
    tab.open(pages / "race.html")
    plots = tab.ask(SEEN.format("figure > .plot") + ".length")
    reached = set()
    for _ in range(120):
        tab.press("Tab")
        reached.add(tab.ask("document.activeElement.closest('.plot') && document.activeElement.closest('figure').id"))
    assert len(reached - {None}) == plots == 8

    tab.ask("document.querySelector('#bars-samples-per-second .wide .point').focus()")
    label = "document.activeElement.getAttribute('aria-label')"
    first = tab.ask(label)
    assert first.startswith("penstock, packed")
    assert tab.ask("document.getElementById('tip').textContent") == first
    tab.press("ArrowDown")
    second = tab.ask(label)
    assert second != first
    tab.press("End")
    assert tab.ask(label).startswith("torchvision")
    tab.press("ArrowRight")
    assert tab.ask(label).startswith("torchvision"), "the last point is the last"
    tab.press("Home")
    assert tab.ask(label) == first
    assert tab.ask("document.getElementById('tip').hidden") is False
    tab.press("Escape")
    assert tab.ask("document.getElementById('tip').hidden") is True


def test_arrows_up_and_down_go_from_line_to_line(tab, pages):
    tab.open(pages / "race.html")
    tab.ask("document.querySelectorAll('#blocks .wide .point')[2].focus()")
    at = "[document.activeElement.dataset.name, document.activeElement.dataset.x]"
    name, x = tab.ask(at)
    tab.press("ArrowDown")
    other, same = tab.ask(at)
    assert other != name
    assert same == x
    tab.press("ArrowUp")
    assert tab.ask(at) == [name, x]


def test_a_mark_under_the_pointer_tells_its_numbers_within_the_window(tab, pages):
    tab.resize(360, is_phone=True)
    tab.open(pages / "race.html")
    last = "[...document.querySelectorAll('#waits .narrow [data-series=\"2\"] .point')].at(-1)"
    tab.ask(f"{last}.scrollIntoView({{ block: 'center' }})")
    x, y, label = tab.ask(
        f"(() => {{ const point = {last};"
        " const box = point.getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2, point.getAttribute('aria-label')]; })()"
    )
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    tip = tab.ask(
        "(({ left, right, top, bottom }) => [left, right, top, bottom])"
        "(document.getElementById('tip').getBoundingClientRect())"
    )
    assert tab.ask("document.getElementById('tip').textContent") == label
    assert tip[0] >= 0
    assert tip[1] <= 360
    assert tip[2] >= 0


def test_lines_can_be_hidden_and_are_skipped_then(tab, pages):
    tab.open(pages / "race.html")
    many = SEEN.format("#blocks .point") + ".length"
    before = tab.ask(many)
    tab.ask("document.querySelector('#blocks .key button').focus()")
    tab.press("Enter")
    assert tab.ask("document.querySelector('#blocks .key button').getAttribute('aria-pressed')") == "false"
    assert tab.ask(many) == before - 6
    hidden = tab.ask("document.querySelector('#blocks .off').dataset.series")
    first = tab.ask("document.querySelector('#blocks .wide .point[tabindex=\"0\"]').closest('.series').dataset.series")
    assert first != hidden
    tab.press("Enter")
    assert tab.ask(many) == before


def test_every_plot_has_its_numbers_as_a_table_that_opens(tab, pages):
    tab.open(pages / "race.html")
    found = tab.ask(
        "[...document.querySelectorAll('figure')].map((figure) => { const details = figure.querySelector('details');"
        " details.querySelector('summary').click(); const table = details.querySelector('table');"
        " return [figure.id, details.open, table.getClientRects().length, table.caption.textContent,"
        " table.querySelectorAll('tbody tr').length, table.querySelectorAll('th[scope=row]').length]; })"
    )
    assert len(found) == 8
    for name, is_open, boxes, caption, rows, heads in found:
        assert is_open, name
        assert boxes, name
        assert caption, name
        assert rows == heads > 0


def test_a_screen_reader_finds_landmarks_headings_and_named_points(tab, pages):
    tab.open(pages / "race.html")
    tab.call("Accessibility.enable")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    said = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")]
    roles = {role for role, _ in said}
    assert {"main", "navigation", "banner", "heading", "table", "figure", "link", "button"} <= roles
    assert ("heading", "Verdict") in said
    assert ("figure", "Waiting for a batch") in said
    marks = [name for role, name in said if role in {"image", "img"}]
    assert any(name.startswith("torchvision ImageFolder and DataLoader: 1,0") for name in marks)
    nameless = [role for role, name in said if role in {"link", "button", "image", "figure", "region"} and not name]
    assert nameless == []


def test_the_data_can_be_taken_away_whole(tab, pages, result):
    tab.open(pages / "race.html")
    name, address = tab.ask("(({ download, href }) => [download, href])(document.querySelector('#data a'))")
    assert name == "result.json"
    assert json.loads(base64.b64decode(address.partition("base64,")[2])) == json.loads(json.dumps(to_json(result)))


def test_without_its_script_everything_but_the_stepping_is_there(tab, pages):
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(pages / "race.html")
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert tab.ask(SEEN.format("figure > .plot") + ".length") == 8
    assert tab.ask("document.querySelectorAll('figure table').length") == 8
    assert tab.ask("document.getElementById('theme').hidden") is True
