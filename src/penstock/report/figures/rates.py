"""How much: the primary metric as bars, ratios within blocks, and block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.report.entries import titled
from penstock.report.figures.figure import Figure, Table
from penstock.report.plots import Axis, Bar, Bars, Curves, Line, Ratio, Ratios, Spot
from penstock.report.units import Unit, said, unit_for
from penstock.results import band, metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.entries import Entry, Study
    from penstock.results import Comparison

__all__ = ["bars", "blocks", "ratios", "spoken"]

MOST_ROWS = 40


def _best_first(shown: Sequence[Entry], name: str) -> list[tuple[Entry, float]]:
    found = [(entry, value) for entry in shown if (value := entry.middle(name)) is not None]
    sign = 1 if metric(name).better == "less" else -1
    return sorted(found, key=lambda one: sign * one[1])


def bars(shown: Sequence[Entry], name: str) -> Figure | None:
    """Draw one metric of all that have it."""
    ranked = _best_first(shown, name)
    if not ranked:
        return None
    kept = ranked[:MOST_ROWS]
    unit = unit_for(metric(name).unit, max(max(entry.values(name)) for entry, _ in kept))
    rows, lines = [], []
    for entry, value in kept:
        standing = entry.standing(name)
        between = (
            f", 95 % {unit.of(standing.interval[0])} to {unit.of(standing.interval[1])}" if standing.interval else ""
        )
        each = ", ".join(map(unit.of, standing.values))
        words = f"{entry.label}: {unit.say(value)}{between}; blocks: {each}"
        rows.append(Bar(entry.label, entry.kind, value, words, standing.values, standing.interval))
        interval = f"{unit.of(standing.interval[0])} to {unit.of(standing.interval[1])}" if standing.interval else "-"
        lines.append((entry.label, unit.of(value), interval, each))
    words = f"{metric(name).about} Bars: the median of the blocks; dots: each block; whiskers: its 95 % interval"
    words += ", from five blocks on."
    if len(ranked) > len(kept):
        words += f" The best {len(kept)} of {len(ranked)}; all are in the table of numbers."
    title = titled(name)
    head = ("", f"median, {unit.name}" if unit.name else "median", "95 %", "block by block")
    return Figure(f"bars-{name}", title, words.strip(), Bars(title, tuple(rows), unit), Table(head, tuple(lines)))


def spoken(comparison: Comparison) -> str:
    """Say a ratio with its interval: "5.70 times [5.55, 5.86]"."""
    interval = comparison.interval
    between = f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else ""
    return f"{comparison.middle:.2f} times{between}"


def ratios(study: Study, shown: Sequence[Entry], against: str | None) -> Figure | None:
    """Draw how many times as much each is, within blocks, as what it is compared with."""
    base, found = study.base(against), study.compared(against)
    if not found or base is None:
        return None
    entry = {one.cell.name: one for one in shown if one.study is study}
    rows, lines = [], []
    for one in found[:MOST_ROWS]:
        name = entry[one.cell]
        word = one.verdict + (f", about {one.blocks_needed} blocks needed" if one.blocks_needed else "")
        rows.append(
            Ratio(
                name.label,
                name.kind,
                one.middle,
                f"{name.label}: {spoken(one)} {entry[one.against].label}: {word}; blocks: "
                + ", ".join(f"{ratio:.3g}" for ratio in one.ratios),
                one.ratios,
                one.interval,
                one.verdict,
            )
        )
        interval = f"{one.interval[0]:.3f} to {one.interval[1]:.3f}" if one.interval else "-"
        lines.append((name.label, f"{one.middle:.3f}", interval, one.verdict, f"{one.p:.3g}", f"{one.p_holm:.3g}"))
    system = next((system.label for system in study.result.systems if system.name == base), None)
    system = system or entry[base].label
    width = band(study.result)
    title = f"Times {system}" + (f" · {study.name}" if study.name else "")
    words = (
        f"{titled(study.result.primary)}, compared within blocks. Diamonds: the median; dots: each block; whiskers: "
        f"95 % interval of the geometric mean; grey: {width:.1%} either way, which means nothing here."
    )
    head = ("", "median ratio", "95 %", "verdict", "p", "p after Holm")
    plot = Ratios(title, tuple(rows), width, system)
    return Figure(f"ratios-{study.name}", title, words, plot, Table(head, tuple(lines)))


def blocks(study: Study, shown: Sequence[Entry]) -> Figure | None:
    """Draw the primary metric block after block."""
    name = study.result.primary
    mine = [entry for entry, _ in _best_first([one for one in shown if one.study is study], name)][:MOST_ROWS]
    if study.result.blocks < 2 or not mine:
        return None
    unit = unit_for(metric(name).unit, max(max(entry.values(name)) for entry in mine))
    lines, rows = [], []
    for entry in mine:
        by_block = study.result.values(entry.cell.name, name)
        spots = tuple(
            Spot(block + 1.0, value, f"{entry.label}, block {block + 1}: {unit.say(value)}")
            for block, value in sorted(by_block.items())
        )
        lines.append(Line(entry.label, entry.number, spots))
        rows.append(
            (entry.label, *(unit.of(by_block[n]) if n in by_block else "-" for n in range(study.result.blocks)))
        )
    title = "Block by block" + (f" · {study.name}" if study.name else "")
    marks = tuple(float(number + 1) for number in range(study.result.blocks))
    plot = Curves(title, tuple(lines), Axis("block", Unit(""), marks=marks), Axis(titled(name), unit))
    words = "Lines that lean together: the machine changed speed. One that leans alone: its system did."
    head = ("", *(f"block {number + 1}" for number in range(study.result.blocks)))
    return Figure(f"blocks-{study.name}", title, words, plot, Table(head, tuple(rows)), tuple(lines))


def best(shown: Sequence[Entry], name: str) -> str:
    """Say who is best by a metric, and how good."""
    ranked = _best_first(shown, name)
    return f"{ranked[0][0].label}: {said(ranked[0][1], metric(name).unit)}" if ranked else "nothing was measured"
