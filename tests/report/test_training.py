"""The page of a training run: what the log says, drawn and written, once for each epoch."""

import re
from html.parser import HTMLParser

import pytest

from penstock.report.training import training_page, write_page


def line(epoch, step, loss):
    return {"kind": "line", "epoch": epoch, "step": step, "latest": {"Loss": loss, "Prec@1": 10 * epoch}}


def epoch(number, loss, share):
    times = {"seconds_taken": 2.0, "samples_per_second": 1234.0, "stall_share": share, "longest_stall_seconds": 0.5}
    return {"kind": "epoch", "epoch": number, "steps": 2, "Loss": loss, "Prec@1": 20.0, **times}


def held(number, loss):
    return {"kind": "validation", "epoch": number, "Loss": loss, "Prec@1": 30.0, "Prec@5": 90.0}


LOG = [
    {"kind": "options", "arch": "resnet<18>", "data": "photos", "seed": 3},
    line(0, 1, 3.0),
    line(0, 2, 2.5),
    epoch(0, 2.75, 0.25),
    {"kind": "verdict", "verdict": "training waits"},
    held(0, 2.6),
    line(1, 1, 9.0),  # of a run that was killed, and done again
    line(1, 1, 2.0),
    line(1, 2, 1.5),
    epoch(1, 1.75, 0.05),
    held(1, 1.6),
    {"kind": "end", "reason": "all epochs are done"},
]


class Tags(HTMLParser):
    """Sees that what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "line", "polyline", "circle"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_is_whole_and_asks_for_nothing_elsewhere():
    page = training_page(LOG)
    tags = Tags()
    tags.feed(page.replace("/>", ">"))
    assert tags.open == []
    assert "http" not in page
    assert "resnet&lt;18&gt;" in page


def test_a_page_shows_curves_with_their_last_values_and_the_numbers_of_each_epoch():
    page = training_page(LOG)
    assert page.count("<svg") == 5
    for said in (
        "training 1.5",
        "validation 1.6",
        "waiting 5",
        "training waits",
        "all epochs are done",
        "5.0%",
        "1,234",
    ):
        assert said in page
    first = re.search(r'<polyline points="([^"]*)" class="train"', page)
    assert first is not None
    assert len(first[1].split()) == 4  # lines, each step once
    assert len(re.findall("<tr>", page)) == 3


@pytest.mark.parametrize("log", [[], LOG[:1], LOG[:2], [held(0, 1.0)]])
def test_a_run_that_has_hardly_begun_has_a_page_too(log, tmp_path):
    write_page(tmp_path / "report.html", log)
    assert "<h2>Numbers</h2>" in (tmp_path / "report.html").read_text()
