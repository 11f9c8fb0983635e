"""Results as Markdown for a README: the verdict, the table, and what stands against believing them. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.report.entries import entries, studies
from penstock.report.tables import numbers
from penstock.report.verdict import headlines
from penstock.report.words import caption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.figures import Table
    from penstock.results import Result

__all__ = ["markdown"]


def markdown(*results: Result, names: Sequence[str] | None = None, against: str | None = None) -> str:
    """Write results one below the other."""
    shown = studies(results, names)
    all_ = entries(shown)
    parts = []
    for study in shown:
        result = study.result
        parts.append(f"### {_plain(study.name or result.title)}\n")
        parts.append("\n".join(f"- {_plain(line.sentence)}" for line in headlines(study, all_, against)) + "\n")
        parts.append(_table(*numbers(study, all_, against)))
        notes = [f"{finding.severity}: {finding.message}" for finding in study.findings]
        if notes:
            parts.append("\n".join(f"- {_plain(note)}" for note in notes) + "\n")
        parts.append(f"{_plain(caption(result))}. `{result.command}`\n")
    return "\n".join(parts)


def _plain(words: str) -> str:
    """Keep words from being taken for markup."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", " ".join(words.split()))


def _table(table: Table, kinds: Sequence[str]) -> str:
    lines = ["| " + " | ".join(map(_plain, table.head)) + " |", "|---" + "|---:" * (len(table.head) - 1) + "|"]
    for row, kind in zip(table.rows, kinds, strict=True):
        cells = [_plain(cell) for cell in row]
        if kind == "ours":
            cells[:2] = [f"**{cell}**" for cell in cells[:2]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
