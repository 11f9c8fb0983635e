"""Results as JSON, and back: strict about what it needs, deaf to what it does not know.

A field that is not known is left out on reading, so that a newer version's additions hurt nobody; a field that is
needed and lacks is an error that names it. Numbers that are not finite are refused when writing: JSON has none.
`conclusions` and `metrics` are written for readers that are not penstock; they follow from the rest, and are not read.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import FormatError, UsageError
from penstock.results import former
from penstock.results.conclusions import describe
from penstock.results.metrics import metric
from penstock.results.result import (
    FORMAT,
    VERSION,
    Cache,
    Cell,
    Epoch,
    Factor,
    Finding,
    Gate,
    Result,
    Run,
    Steps,
    System,
    Waits,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["from_json", "read", "to_json", "write"]

T = TypeVar("T")


def to_json(result: Result) -> dict[str, Any]:
    """Describe a result as plain values."""
    used = dict.fromkeys(name for run in result.runs for name in run.values)
    return {
        "format": FORMAT,
        "version": VERSION,
        **_plain(result),
        "metrics": {name: dataclasses.asdict(metric(name)) for name in (*used, result.primary)},
        "conclusions": describe(result),
    }


def _plain(value: Any) -> Any:
    """Turn values into plain ones; below the result itself, fields that have their default are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kept = [
            field.name
            for field in dataclasses.fields(value)
            if isinstance(value, Result) or getattr(value, field.name) not in (field.default, {})
        ]
        return {name: _plain(getattr(value, name)) for name in kept}
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


def from_json(value: Any, *, file: str | None = None) -> Result:
    """Rebuild a result from what `to_json` gave, or from what races wrote before there was this format."""
    if isinstance(value, dict) and former.is_former(value):
        return _guarded(lambda: former.result(value), file)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        got = value.get("format") if isinstance(value, dict) else type(value).__name__
        raise FormatError(
            "not a result",
            file=file,
            got=f"format {got!r}",
            expected=repr(FORMAT),
            hint="penstock race --out writes one",
        )
    if value.get("version") != VERSION:
        raise FormatError(
            "a result of another version",
            file=file,
            got=value.get("version"),
            expected=VERSION,
            hint="a newer penstock wrote it: update",
        )
    return _guarded(lambda: _result(value), file)


def _guarded(make: Any, file: str | None) -> Result:
    try:
        made: Result = make()
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        what = f"the result lacks something: {type(error).__name__} {error}"
        raise FormatError(what, file=file, expected="every field of docs/format/results-v1.md") from error
    return made


def _result(value: Mapping[str, Any]) -> Result:
    result = _made(
        Result,
        value,
        factors=tuple(_made(Factor, one, levels=tuple(one["levels"])) for one in value.get("factors", ())),
        systems=tuple(_made(System, one) for one in value["systems"]),
        cells=tuple(_made(Cell, one) for one in value["cells"]),
        runs=tuple(map(_run, value["runs"])),
        findings=tuple(_made(Finding, one, cells=tuple(one.get("cells", ()))) for one in value.get("findings", ())),
    )
    cells, systems = {cell.name for cell in result.cells}, {system.name for system in result.systems}
    if strange := [run.cell for run in result.runs if run.cell not in cells]:
        raise FormatError("a run of a cell that is not listed", got=strange[0], expected=f"one of {sorted(cells)}")
    if strange := [cell.system for cell in result.cells if cell.system not in systems]:
        raise FormatError("a cell of a system that is not listed", got=strange[0], expected=f"one of {sorted(systems)}")
    return result


def _run(value: Mapping[str, Any]) -> Run:
    waits, steps, cache = value.get("waits"), value.get("steps"), value.get("cache")
    return _made(
        Run,
        value,
        gates=tuple(_made(Gate, one) for one in value.get("gates", ())),
        cache=_made(Cache, cache) if cache else None,
        waits=_made(Waits, waits, counts={int(n): many for n, many in waits["counts"].items()}) if waits else None,
        epochs=tuple(_made(Epoch, one) for one in value.get("epochs", ())),
        steps=_made(Steps, steps, **{name: tuple(part) for name, part in steps.items()}) if steps else None,
    )


def _made(kind: type[T], value: Mapping[str, Any], **given: Any) -> T:
    """Make one value, of the fields that it knows."""
    known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: part for name, part in {**value, **given}.items() if name in known})


def read(path: str | os.PathLike[str]) -> Result:
    """Read a result from a file."""
    name = os.fspath(path)
    try:
        value = json.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError as error:
        raise UsageError("no such result", file=name) from error
    except ValueError as error:
        raise FormatError("not JSON", file=name, got=str(error), expected="a result of penstock") from error
    return from_json(value, file=name)


def write(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result to a file, whole or not at all."""
    target = Path(path)
    text = json.dumps(to_json(result), indent=1, allow_nan=False) + "\n"
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, delete=False) as file:
        try:
            file.write(text)
            file.flush()
            Path(file.name).chmod(0o644)
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
