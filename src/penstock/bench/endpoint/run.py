"""A probe from beginning to end: an object to ask about, the contract, the curve, and the result as plain values."""

from __future__ import annotations

import itertools
import posixpath
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from penstock.bench.endpoint import curve
from penstock.bench.endpoint.asking import Asker
from penstock.bench.endpoint.listing import NAMES, listing_checks
from penstock.bench.endpoint.pace import measure
from penstock.bench.endpoint.reading import Target, reading_checks
from penstock.bench.endpoint.scratch import scratch
from penstock.bench.endpoint.writing import no_writing_checks, writing_checks
from penstock.errors import UsageError
from penstock.storage.location import Access, Location, Requests
from penstock.storage.object import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.bench.endpoint.contract import Check
    from penstock.bench.endpoint.pace import Curve
    from penstock.bench.endpoint.scratch import Scratch

__all__ = ["probe"]

FORMAT = 1  # of the result
OBJECT_BYTES = 16 * 2**20  # of the one that is made
LOOKED_AT = 10_000  # names, to find the largest object
CHECKS_SHARE = 0.6  # of the time, at the most


@final
@dataclass(frozen=True, slots=True)
class _Object:
    """What is read."""

    store: ObjectStore
    name: str
    size: int


def probe(
    url: str,
    access: Access | None = None,
    *,
    name: str | None = None,
    writes: bool = False,
    seconds: float = 30.0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Check the endpoint behind a URL, and measure it; the result as plain values, ready for JSON.

    Reads the object `name` below the URL, by default the largest. With `writes` objects are made for it in a folder of
    their own below the URL, and removed. `progress` is told in words what happens next.
    """
    began = time.monotonic()
    given = (access or Access()).requests
    patient = replace(given, deadline_seconds=min(given.deadline_seconds, seconds))
    store = ObjectStore(url, replace(access or Access(), requests=patient))
    if store.location.scheme not in {"s3", "http", "https"}:
        raise UsageError("this kind of store cannot be probed", got=url, expected="s3://…, or http(s)://… of one file")
    asker = Asker(store, began + CHECKS_SHARE * seconds)
    with ExitStack() as stack:
        own = None
        if writes:
            if store.location.scheme != "s3":
                raise UsageError("a plain web server cannot be written to", got=url, hint="leave out --write")
            own = stack.enter_context(scratch(store))
        progress("looking for an object")
        read = _object(store, name, own)
        asker = Asker(read.store, asker.ends)
        checks = []
        for check in _checks(asker, read, own):
            progress(check.name)
            checks.append(check)
        measured = measure(read.store, read.name, read.size, ends=began + seconds, progress=progress)
    return {
        "format": FORMAT,
        "kind": "probe",
        "url": store.place,
        "object": {"name": None if own and not name else read.name, "bytes": read.size},
        "wrote": writes,
        "sound": not any(check.fails for check in checks),
        "checks": [{**asdict(check), "verdict": check.verdict.value} for check in checks],
        "curve": _as_dict(measured, given),
        "seconds": round(time.monotonic() - began, 2),
    }


def _object(store: ObjectStore, name: str | None, own: Scratch | None) -> _Object:
    """Find or make the object that is read."""
    if store.location.scheme != "s3":
        if name is not None:
            raise UsageError("the URL of a web server names one file itself", got=f"--object {name}")
        folder, name = posixpath.split(store.location.path)
        store = ObjectStore(Location(store.location.scheme, store.location.host, folder), store.access)
    elif name is None and own is not None:
        made = own.name("object")
        store.write(made, np.random.default_rng(0).bytes(OBJECT_BYTES))
        return _Object(store, made, OBJECT_BYTES)
    elif name is None:
        listed = itertools.islice(store.list(), LOOKED_AT)
        largest = max(listed, key=lambda found: found.size, default=None)
        if largest is None:
            hint = "name one with --object, or allow to make some with --write"
            raise UsageError("there is no object to read", file=store.place, hint=hint)
        name = largest.name
    size = store.size(name)
    if not size:
        what = "there is no such object" if size is None else "the object is empty"
        raise UsageError(what, file=f"{store.place}/{name}", expected="one with some bytes, better many")
    return _Object(store, name, size)


def _checks(asker: Asker, read: _Object, own: Scratch | None) -> Iterator[Check]:
    """Go through the contract."""
    yield from reading_checks(asker, Target.of(asker, read.name, read.size))
    if own is None:
        yield from listing_checks(asker, "")
        is_web = asker.store.location.scheme != "s3"
        yield from no_writing_checks("a plain web server takes nothing" if is_web else "needs --write")
        return
    for name in NAMES:
        asker.store.write(own.name(f"list/{name}"), b"listed")
    yield from listing_checks(asker, f"{own.folder}/list/", {f"{own.folder}/list/{name}" for name in NAMES})
    yield from writing_checks(asker, own)


def _as_dict(found: Curve, requests: Requests) -> dict[str, Any]:
    """Give the curve, and what it says, as plain values."""
    levels = found.levels
    settings, why = curve.advice(levels, found.level_bytes, requests) if levels else ({}, None)
    return {
        "sizes": [{**asdict(point), "bytes_per_second": point.bytes_per_second} for point in found.sizes],
        "best_request_bytes": curve.best_size(found.sizes) if found.sizes else None,
        "penstock_request_bytes": found.link_bytes,
        "level_request_bytes": found.level_bytes or None,
        "levels": [{**asdict(level), "trouble": curve.trouble(level, levels[0])} for level in levels],
        "safe_in_flight": curve.safe(levels),
        "useful_in_flight": curve.useful(levels),
        "settings": settings,
        "why": why,
        "lacks": _lacks(found),
    }


def _lacks(found: Curve) -> str | None:
    """Say why the curve is not whole, if it is not."""
    if found.error is not None:
        return found.error.what
    return "the time was up" if found.is_cut_short else None
