"""Results as one HTML page that needs nothing else: it opens offline, asks nobody for anything, and forbids itself to.

Verdict first, then the numbers, what stands against believing them, plots, how it was measured, on what, and the data
themselves to take away. Plots are drawn here, twice each, for desks and for phones; the script on the page only lets
readers step from point to point, hide lines and choose light or dark. Without it all is there but that.
Every plot has its numbers as a table below it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from penstock.report.colours import page_style
from penstock.report.entries import entries, studies
from penstock.report.figures import Table, figures
from penstock.report.plots import Curves, Plane
from penstock.report.plots.pen import shape, tag
from penstock.report.rows import as_csv
from penstock.report.tables import facts, numbers, setups
from penstock.report.verdict import headlines
from penstock.report.words import caption
from penstock.results import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.entries import Entry, Study
    from penstock.report.figures import Figure
    from penstock.report.plots import Line
    from penstock.results import Result

__all__ = ["page"]

WIDE, NARROW = 860, 330
SCRIPT = resources.files("penstock.report").joinpath("page.js").read_text("utf-8")
SECTIONS = {
    "verdict": "Verdict",
    "numbers": "Numbers",
    "doubts": "Doubts",
    "plots": "Plots",
    "method": "Method",
    "machine": "Machine",
    "data": "Data",
}


def page(*results: Result, names: Sequence[str] | None = None, against: str | None = None) -> str:
    """Lay results out as one page, side by side where they are several; `names` tells them apart.

    `against` names the system or the cell that the others are compared with; without it, the slowest system.
    """
    shown = studies(results, names)
    all_ = entries(shown)
    title = results[0].title if len(results) == 1 else f"{len(results)} results side by side"
    head = "".join(f'<p class="soft">{escape(_about(study))}</p>' for study in shown)
    inside = {
        "verdict": _each(shown, lambda study: _verdict(study, all_, against)),
        "numbers": _each(shown, lambda study: _numbers(study, all_, against)),
        "doubts": _each(shown, _doubts),
        "plots": _plots(figures(shown, against)),
        "method": _each(shown, _method),
        "machine": _each(shown, _machine),
        "data": _data(shown),
    }
    links = "".join(f'<li><a href="#{name}">{words}</a></li>' for name, words in SECTIONS.items())
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{SECTIONS[name]}</h2>'
        f"{part}</section>"
        for name, part in inside.items()
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">'
        f"<title>{escape(title)}</title><style>{page_style()}</style></head><body>"
        '<a class="skip" href="#verdict">Skip to the verdict</a>'
        f'<header><h1>{escape(title)}</h1>{head}<button id="theme" type="button" hidden>Colours: as the system</button>'
        f'</header><nav aria-label="On this page"><ul>{links}</ul></nav><main>{body}</main>'
        f'<div id="tip" aria-hidden="true" hidden></div><script>{SCRIPT}</script></body></html>\n'
    )


def _policy() -> str:
    """Forbid the page to fetch anything, and to run any script but its own."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'"
    )


def _about(study: Study) -> str:
    result = study.result
    said = [study.name, caption(result), result.begun.replace("T", " ").replace("Z", " UTC")]
    said += ["interrupted: what was measured until then is here"] if result.status != "complete" else []
    said += ["quick: too short to conclude anything from"] if result.is_quick else []
    return " · ".join(one for one in said if one)


def _each(shown: Sequence[Study], make: object) -> str:
    """Make a part for each study, under its name where there are several."""
    assert callable(make)
    return "".join((f"<h3>{escape(study.name)}</h3>" if study.name else "") + make(study) for study in shown)


def _verdict(study: Study, all_: Sequence[Entry], against: str | None) -> str:
    lines = []
    for line in headlines(study, all_, against):
        kind = {"faster": "good", "slower": "bad"}.get(line.verdict, "open")
        lines.append(
            f'<li class="{kind}"><b>{escape(line.number)}</b> <em>{escape(line.word)}</em>'
            f"<p>{escape(line.sentence)}</p></li>"
        )
    return f'<ul class="verdicts">{"".join(lines)}</ul>'


def _table(table: Table, kind: str = "", kinds: Sequence[str] = (), words: str = "") -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    rows = []
    for number, row in enumerate(table.rows):
        first, *others = map(escape, row)
        cells = f'<th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in others)
        rows.append(f'<tr class="{kinds[number]}">{cells}</tr>' if kinds else f"<tr>{cells}</tr>")
    named = f"<caption>{escape(words)}</caption>" if words else ""
    top = f"<thead><tr>{head}</tr></thead>" if any(table.head) else ""
    label = escape(words or "Table", quote=True)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table class="{kind}">{named}{top}'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _numbers(study: Study, all_: Sequence[Entry], against: str | None) -> str:
    table, kinds = numbers(study, all_, against)
    words = "Medians of the blocks, best first" + (f": {study.name}" if study.name else "")
    return _table(table, "", kinds, words)


def _doubts(study: Study) -> str:
    """Show what stands against believing it: findings, checks that were not passed, runs that failed."""
    result = study.result
    parts = [
        f'<li class="{escape(one.severity)}"><b>{escape(one.severity)}</b> {escape(one.message)}</li>'
        for one in study.findings
    ]
    said = f'<ul class="findings">{"".join(parts)}</ul>' if parts else "<p>Nothing was found.</p>"
    gates = [(gate.name, gate.passed) for run in result.runs for gate in run.gates]
    if gates:
        many, passed = Counter(name for name, _ in gates), Counter(name for name, is_passed in gates if is_passed)
        rows = tuple((name, f"{passed[name]} of {many[name]} runs") for name in many)
        said += _table(Table(("check", "passed by"), rows), "", (), "Checks that the work was the work")
    failures: dict[str, list[int]] = {}
    for run in result.runs:
        if not run.is_ok:
            failures.setdefault(f"{run.cell}: {run.status}: {run.message}", []).append(run.block + 1)
    if failures:
        blocks = {words: ", ".join(map(str, sorted(found))) for words, found in failures.items()}
        listed = "".join(f"<li><pre>{escape(words)}</pre>in block {blocks[words]}</li>" for words in failures)
        said += f'<h4>What failed</h4><ul class="failures">{listed}</ul>'
    return said


def _plots(found: Sequence[Figure]) -> str:
    if not found:
        return "<p>Nothing was measured that could be drawn.</p>"
    hint = (
        '<p class="soft hint">Point at a mark, or tab to a plot and use the arrow keys, to hear its numbers. Each plot '
        "has a table below it.</p>"
    )
    return hint + "".join(map(_figure, found))


def _figure(figure: Figure) -> str:
    name = figure.name
    drawn = figure.plot.svg(WIDE) + figure.plot.svg(NARROW)
    lines = figure.lines if isinstance(figure.plot, Curves | Plane) else ()
    buttons = "".join(map(_button, lines))
    keys = f'<div class="key" role="group" aria-label="Lines shown">{buttons}</div>' if buttons else ""
    return (
        f'<figure id="{name}" aria-labelledby="{name}-title"><h3 id="{name}-title">{escape(figure.title)}</h3>'
        f'<p class="soft">{_kept(figure.words)}</p>{drawn}{keys}'
        f"<details><summary>As a table</summary>{_table(figure.table, '', (), figure.title)}</details></figure>"
    )


def _kept(words: str) -> str:
    """Keep numbers and their percent signs on one line."""
    return escape(words).replace(" %", "\N{NO-BREAK SPACE}%")


def _button(line: Line) -> str:
    stroke = tag("path", d="M1 9h34", class_="line") + shape(line.number, 18.0, 9.0)
    swatch = tag("svg", stroke, class_="plot swatch", viewBox="0 0 36 18", aria_hidden="true")
    return (
        f'<button type="button" aria-pressed="true" class="s{line.number}" data-shows="{line.number}">{swatch}'
        f"{escape(line.name)}</button>"
    )


def _method(study: Study) -> str:
    result = study.result
    again = f"<p>To do it again:</p><pre><code>{escape(result.command)}</code></pre>" if result.command else ""
    words = (
        ""
        if result.kind == "imported"
        else "<p>Every run is a process of its own. Each block runs every cell once, in an order drawn anew; ratios "
        "are taken within blocks. A rate is all samples by all seconds of its window, never a mean of rates. A run "
        "that passes not all of its checks has no numbers.</p>"
    )
    plan: dict[str, object] = {
        "kind": result.kind,
        "blocks": result.blocks,
        "seed of their order": result.seed,
        "decided by": result.primary,
        **dict(result.work),
        **{factor.name: f"{', '.join(map(str, factor.levels))} {factor.unit}".strip() for factor in result.factors},
        "begun": result.begun,
        "ended": result.ended,
    }
    return (
        words
        + again
        + _table(setups(result), "words", (), "What was measured")
        + _table(Table(("", ""), tuple(facts(plan))), "words", (), "The work")
    )


def _machine(study: Study) -> str:
    return _table(Table(("", ""), tuple(facts(dict(study.result.manifest)))), "words", (), "What it was measured on")


def _data(shown: Sequence[Study]) -> str:
    """Put the results themselves on the page, to be taken away: the JSON of each, and all runs as one CSV."""
    links = []
    for number, study in enumerate(shown, 1):
        name = "result.json" if len(shown) == 1 else f"result-{number}.json"
        text = json.dumps(to_json(study.result), indent=1, allow_nan=False)
        words = f"{study.name}, as JSON" if study.name else "The result as JSON"
        links.append(_download(name, "application/json", text, f"{words}: every run, every number"))
    links.append(_download("runs.csv", "text/csv", as_csv(shown), "All runs as CSV: a row per run"))
    return f"<ul>{''.join(links)}</ul>"


def _download(name: str, kind: str, text: str, words: str) -> str:
    data = base64.b64encode(text.encode()).decode()
    return (
        f'<li><a download="{name}" href="data:{kind};charset=utf-8;base64,{data}">{escape(words)}</a> '
        f'<span class="soft">({len(text.encode()):,} bytes)</span></li>'
    )
