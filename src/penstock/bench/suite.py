"""A suite: studies written down in TOML, so that a whole paper's tables can be measured again with one command.

    title = "(DL)² at this machine's scale"

    [data.photos]                 # made where it is not there: so many photographs
    count = 2000

    [[study]]
    name = "workers"
    layer = "epoch"               # or "race", or any other layer of `penstock bench`
    data = "photos"
    peers = ["dali", "pytorch"]   # of loaders
    blocks = 3
    settings = { epochs = 1 }
    sweep = { workers = [1, 2] }

    [study.published]             # what the original found, by the name of the cell; other machines, other data
    source = "ICDE 2023"
    unit = "images/s"
    note = "ImageNet, AlexNet, from memory, 256 CPUs"
    values = { "dali, workers 1" = 1447 }

Reading a suite measures nothing. Whatever is not known in it is an error with its name: a misspelt factor must not
become a study of nothing.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench import layers
from penstock.bench.case import Case
from penstock.bench.peers import PEERS
from penstock.errors import FormatError, UsageError
from penstock.results.conclusions import standings
from penstock.results.metrics import metric

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.results.result import Result

__all__ = ["Published", "Study", "Suite", "beside", "read"]

RACE = "race"
DEFAULT_BLOCKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What the original found."""

    source: str
    values: Mapping[str, float]  # by the name of the cell
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One table of the original."""

    name: str
    layer: str
    data: str  # a name of `Suite.data`
    title: str = ""
    peers: tuple[str, ...] = ()
    blocks: int = DEFAULT_BLOCKS
    settings: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    published: Published | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Studies, and the data that they want."""

    title: str
    studies: tuple[Study, ...]
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read(path: str | os.PathLike[str]) -> Suite:
    """Read a suite from a TOML file."""
    name = os.fspath(path)
    try:
        value = tomllib.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError as error:
        raise UsageError("no such suite", file=name) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError("not TOML", file=name, got=str(error)) from error
    _known(value, {"title", "data", "study"}, "the suite", name)
    if not value.get("study"):
        raise FormatError("the suite has no study", file=name, expected="[[study]]")
    data = value.get("data", {})
    studies = tuple(_study(one, data, name) for one in value["study"])
    names = [study.name for study in studies]
    if doubled := [one for one in names if names.count(one) > 1]:
        raise FormatError("two studies of one name", file=name, got=doubled[0])
    return Suite(title=value.get("title", Path(path).stem), studies=studies, data=data)


def _known(value: Mapping[str, Any], known: set[str], what: str, file: str) -> None:
    if strange := sorted(set(value) - known):
        raise FormatError(f"{what} has something unknown in it", file=file, got=strange[0], expected=str(sorted(known)))


def _study(value: Mapping[str, Any], data: Mapping[str, Any], file: str) -> Study:
    what = f"study {value.get('name', '?')}"
    _known(value, {one.name for one in fields(Study)}, what, file)
    if lacking := [one for one in ("name", "layer", "data") if one not in value]:
        raise FormatError(f"{what} lacks something", file=file, expected=lacking[0])
    if value["layer"] not in {RACE, *layers.LAYERS}:
        raise FormatError(f"{what}: no such layer", file=file, got=value["layer"], expected=f"race, {layers.LAYERS}")
    if value["data"] not in data:
        raise FormatError(f"{what}: no such data", file=file, got=value["data"], expected=f"one of {sorted(data)}")
    of_loaders = value["layer"] in {RACE, *layers.OF_LOADERS}
    if of_loaders and (
        strange := [one for one in value.get("peers", ()) if one not in PEERS] or not value.get("peers")
    ):
        got = strange if strange is True else strange[0]
        raise FormatError(
            f"{what}: no such peer", file=file, got="none" if got is True else got, expected=str([*PEERS])
        )
    settings = Case if of_loaders else layers.load(value["layer"]).Settings
    known = {one.name for one in fields(settings)} - {"data", "forms"}
    _known({**value.get("settings", {}), **value.get("sweep", {})}, known, f"{what}: settings or sweep", file)
    published = value.get("published")
    if published is not None:
        _known(published, {one.name for one in fields(Published)}, f"{what}: published", file)
        published = Published(**published)
    sweep = {name: tuple(levels) for name, levels in value.get("sweep", {}).items()}
    return Study(**{**value, "peers": tuple(value.get("peers", ())), "sweep": sweep, "published": published})


def beside(study: Study, result: Result) -> str:
    """Lay out a study's standings, and what the original published beside them, as a table in Markdown.

    The originals had other machines and other data: what may be compared is how a column rises and falls. So both are
    also given as multiples of the first cell that both have.
    """
    unit, published = metric(result.primary).unit, study.published
    middles = {standing.cell: standing.middle for standing in standings(result)}
    cells = [cell.name for cell in result.cells]
    lines = [f"### {study.title or study.name}", ""]
    if published is None:
        rows = [f"| {cell} | {_shown(middles[cell])} |" for cell in cells]
        return "\n".join([*lines, f"| cell | here, {unit} |", "|---|---|", *rows, ""])
    first = next((cell for cell in cells if middles[cell] and published.values.get(cell)), None)
    lines += [f"Published: {published.source}. {published.note}".rstrip(), ""]
    lines += [f"| cell | here, {unit} | published, {published.unit or unit} | here, times | published, times |"]
    lines += ["|---|---|---|---|---|"]
    for cell in dict.fromkeys([*cells, *published.values]):
        here, there = middles.get(cell), published.values.get(cell)
        times = [
            f"{value / base:.2f}" if first and value and base else ""
            for value, base in (
                (here, middles.get(first) if first else None),
                (there, published.values.get(first) if first else None),
            )
        ]
        lines.append(f"| {cell} | {_shown(here)} | {'' if there is None else f'{there:g}'} | {' | '.join(times)} |")
    return "\n".join([*lines, ""])


def _shown(value: float | None) -> str:
    return "not measured" if value is None else f"{value:,.4g}"
