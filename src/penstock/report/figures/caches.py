"""What lay in the page cache before and after, and what came from the device: the proof of cold, and of warm."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from penstock.report.figures.figure import Figure, Table
from penstock.report.plots import Bar, Bars, Share, Shares
from penstock.report.units import Unit, said, spoken_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.report.entries import Entry
    from penstock.results import Cache, Run

__all__ = ["devices", "residency"]

COLD = {"cold", "dropped", "disk"}
COLD_SHARE = 0.95  # of the payload that must have come from the device


def _cached(entry: Entry) -> list[tuple[Run, Cache]]:
    return [(run, run.cache) for run in entry.runs if run.cache]


def _told(share: float | None) -> str:
    return "-" if share is None else spoken_share(share)


def residency(shown: Sequence[Entry]) -> Figure | None:
    """Draw the share of the data in the page cache before and after every run."""
    rows, lines = [], []
    for entry in shown:
        runs = []
        for run, cache in _cached(entry):
            before, after = cache.resident_before, cache.resident_after
            words = (
                f"{entry.label}, block {run.block + 1}: asked {cache.asked}, found {cache.found}; "
                f"in the page cache before: {_told(before)}, after: {_told(after)}"
            )
            if before is not None or after is not None:
                runs.append((before, after, words))
            read = "-" if cache.device_read_bytes is None else said(cache.device_read_bytes, "B")
            payload = "-" if cache.payload_bytes is None else said(cache.payload_bytes, "B")
            at = (f"{run.block + 1}", cache.asked, cache.found, _told(before), _told(after), payload, read)
            lines.append((entry.label, *at))
        if runs:
            caches = [cache for _, cache in _cached(entry)]
            asked = ", ".join(dict.fromkeys(cache.asked for cache in caches))
            found = ", ".join(dict.fromkeys(cache.found for cache in caches))
            printed = asked if asked == found else f"{asked}: was {found}"
            rows.append(Share(entry.label, entry.kind, printed, tuple(runs)))
    if not rows:
        return None
    title = "Was it cold, was it warm?"
    words = (
        "The share of the data's pages in this system's page cache before and after every run, as counted. Cold begins "
        "at 0 %, warm at 100 %. Right: what was asked for; where something else was found, that too."
    )
    head = ("", "block", "asked", "found", "before", "after", "bytes of the files", "from the device")
    return Figure("cache", title, words, Shares(title, tuple(rows)), Table(head, tuple(lines)))


def devices(shown: Sequence[Entry]) -> Figure | None:
    """Draw how many bytes came from the device, by the bytes of the files read."""
    rows, lines = [], []
    is_cold = False
    for entry in shown:
        known = [
            (run, cache.device_read_bytes / cache.payload_bytes)
            for run, cache in _cached(entry)
            if cache.payload_bytes and cache.device_read_bytes is not None
        ]
        if not known:
            continue
        is_cold = is_cold or any(cache.asked in COLD for _, cache in _cached(entry))
        shares = tuple(share for _, share in known)
        words = f"{entry.label}: {spoken_share(median(shares))} of the bytes of its files came from the device"
        rows.append(Bar(entry.label, entry.kind, median(shares), words, shares))
        lines += [(entry.label, f"{run.block + 1}", spoken_share(share)) for run, share in known]
    if not rows or not any(bar.value for bar in rows):
        return None
    title = "What came from the device"
    words = (
        "Bytes that the block device delivered while the clock ran, by the bytes of the files that the run reads. "
        "A cold run that read less than 95 % of them was not cold; much above 100 % is read in vain, or again."
    )
    level = (COLD_SHARE, "95 %") if is_cold else None
    plot = Bars(title, tuple(rows), Unit("%", 100), level)
    return Figure("device", title, words, plot, Table(("", "block", "from the device"), tuple(lines)))
