"""What a result says, in sentences: first on the page, first in Markdown. Pure.

A verdict is of our systems, or of the best where none is ours, against what they are compared with. It is never bolder
than the comparison: where that is inconclusive, so is the sentence, and a quick result gives none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.report.entries import titled
from penstock.report.figures.rates import spoken
from penstock.report.units import said, unit_for
from penstock.results import band, metric
from penstock.results.conclusions import FASTER, FEWEST_BLOCKS, INCONCLUSIVE, SAME, SLOWER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.entries import Entry, Study
    from penstock.results import Comparison

__all__ = ["Headline", "headlines"]

# A word, for what a metric is of: a rate is faster, other things are more or less.
RATE = {FASTER: "faster", SLOWER: "slower", SAME: "the same", INCONCLUSIVE: "inconclusive"}
OTHER = {FASTER: "better", SLOWER: "worse", SAME: "the same", INCONCLUSIVE: "inconclusive"}

MOST_SINGLE = 4  # comparisons that get a verdict each; more are summed up by system


@dataclass(frozen=True, slots=True)
class Headline:
    """One verdict: the number to be read first, the word, and the sentence."""

    number: str
    word: str
    verdict: str  # "faster", "slower", "same", "inconclusive", or empty: there is nothing to compare
    sentence: str


def headlines(study: Study, shown: Sequence[Entry], against: str | None = None) -> list[Headline]:
    """Say what a study comes to; never nothing."""
    result = study.result
    mine = {entry.cell.name: entry for entry in shown if entry.study is study}
    ranked = [standing for standing in study.standings() if standing.middle is not None]
    if not ranked:
        failed = sum(not run.is_ok for run in result.runs)
        return [Headline("0", "nothing measured", "", f"No run succeeded: {failed} of {len(result.runs)} failed.")]
    found = study.compared(against)
    told = [one for one in found if mine[one.cell].kind == "ours" and "#" not in mine[one.cell].cell.system]
    told = told or [one for one in found if mine[one.cell].kind != "bound"][:1]
    if not told:
        best = mine[ranked[0].cell]
        value = said(ranked[0].middle or 0.0, metric(result.primary).unit)
        between = ranked[0].interval
        unit = unit_for(metric(result.primary).unit, ranked[0].middle or 0.0)
        told_interval = f", 95 % {unit.of(between[0])} to {unit.of(between[1])}" if between else ""
        which = "" if len(ranked) == 1 else ", the best of " + str(len(ranked))
        return [Headline(value, titled(result.primary), "", f"{best.label}{which}: {value}{told_interval}.")]
    return [_single(one, mine, study) for one in told] if len(told) <= MOST_SINGLE else _many(told, mine)


def _words(study: Study) -> dict[str, str]:
    return RATE if metric(study.result.primary).unit.endswith("/s") else OTHER


def _single(one: Comparison, mine: dict[str, Entry], study: Study) -> Headline:
    result = study.result
    cell, base = mine[one.cell], mine[one.against]
    word = _words(study)[one.verdict]
    unit = metric(result.primary).unit
    how = "as fast as" if unit.endswith("/s") else f"the {titled(result.primary).lower()} of"
    times = spoken(one).replace(" times", f" times {how} {base.label}", 1)
    values = [entry.middle(result.primary) or 0.0 for entry in (cell, base)]
    sentence = f"{cell.label}: {times}. In the median, {said(values[0], unit)} to {said(values[1], unit)}."
    if one.verdict == INCONCLUSIVE:
        if result.is_quick:
            sentence += " Quick by intent: no verdict is drawn."
        elif len(one.ratios) < FEWEST_BLOCKS:
            many = f"{len(one.ratios)} block{'s' if len(one.ratios) != 1 else ''}"
            sentence += f" No verdict from {many}: it takes {FEWEST_BLOCKS}."
        else:
            sentence += f" That does not tell them apart{_needed(one)}."
    elif one.verdict == SAME:
        sentence += " The interval lies within 2 %."
    else:
        sentence += f" The interval lies beyond the {band(result):.1%} that mean nothing here."
    return Headline(f"{one.middle:.2f}x", word, one.verdict, sentence)


def _needed(one: Comparison) -> str:
    return f"; about {one.blocks_needed} blocks would" if one.blocks_needed else ""


def _many(told: Sequence[Comparison], mine: dict[str, Entry]) -> list[Headline]:
    """Sum up comparisons at many levels, system by system."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for one in told:
        groups.setdefault((mine[one.cell].cell.system, mine[one.against].cell.system), []).append(one)
    lines = []
    for (system, base), group in groups.items():
        result = mine[group[0].cell].study.result
        counts = Counter(one.verdict for one in group)
        words = _words(mine[group[0].cell].study)
        often, many = counts.most_common(1)[0]
        each = ", ".join(f"{words[word]} at {count}" for word, count in counts.most_common())
        low, high = min(one.middle for one in group), max(one.middle for one in group)
        labels = result.system(system).label, result.system(base).label
        sentence = f"{labels[0]} against {labels[1]} at {len(group)} levels: {each}."
        sentence += f" Median ratios from {low:.2f} to {high:.2f}."
        number = f"{low:.2f}x" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f}-{high:.2f}x"
        verdict = often if many == len(group) else INCONCLUSIVE
        lines.append(Headline(number, words[often] if many == len(group) else "mixed", verdict, sentence))
    return lines
