"""(DL)²'s log: lines of `DLLL` and JSON, one per printed iteration, epoch and run.

The first line's step is ["P"] and holds every parameter; ["T", epoch, iteration] are of training, ["E", epoch] of an
epoch, ["S"] of the run. An epoch's rate is computed here from what is a total: the images of its iterations by their
`t.iteration_time`, or the whole epoch's `e.total_time` where that is there. The speeds that the log itself gives are
means of rates, and are left alone.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.errors import FormatError
from penstock.results.result import OK, Cell, Epoch, Finding, Result, Run, Steps, System

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["result"]

PREFIX = "DLLL"


def _lines(text: str, file: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and (value := _line(line, f"line {number}", file)).get("type", "LOG") == "LOG":
            yield value


def _line(line: str, where: str, file: str) -> Mapping[str, Any]:
    what, expected = f"{where} is not of a DLLogger stream", f"{PREFIX} and a JSON object with step and data"
    try:
        value = json.loads(line.removeprefix(PREFIX))
    except ValueError as error:
        raise FormatError(what, file=file, got=str(error), expected=expected) from error
    if not line.startswith(PREFIX) or not isinstance(value, dict) or not {"step", "data"} <= value.keys():
        raise FormatError(what, file=file, got=line[:40], expected=expected)
    found: Mapping[str, Any] = value
    return found


def _seconds(value: Any) -> float:
    """Read a time: a number, or (DL)²'s "1251.85876 s"."""
    return float(value.split()[0]) if isinstance(value, str) else float(value)


def result(text: str, name: str, *, file: str) -> Result:
    """Translate a stream: one cell, one run per epoch after the first, which has the start in it."""
    parameters: dict[str, Any] = {}
    waits: dict[int, dict[int, tuple[float, float]]] = {}  # epoch → iteration → (data time, iteration time)
    totals: dict[int, float] = {}
    for line in _lines(text, file):
        step, data = line["step"], line["data"]
        kind = step[0] if isinstance(step, list) and step else step
        if kind in {"P", "PARAMETER"}:
            parameters |= data
        elif kind == "T" and "t.iteration_time" in data:
            found = (_seconds(data.get("t.data_time", 0.0)), _seconds(data["t.iteration_time"]))
            waits.setdefault(int(step[1]), {})[int(step[2])] = found
        elif kind == "E" and "e.total_time" in data:
            totals[int(step[1])] = _seconds(data["e.total_time"])
    if not waits:
        raise FormatError("no training iteration is in the stream", file=file, expected='steps ["T", epoch, iteration]')
    batch = int(parameters.get("batch_size", 0))
    label = str(parameters.get("data_loader", name))
    workers = parameters.get("workers")
    runs = [
        _run(Run(cell=name, block=block, position=0, status=OK, raw={"epoch": epoch}), waits[epoch], batch, totals)
        for block, epoch in enumerate(sorted(waits))
    ]
    return Result(
        kind="imported",
        title=f"(DL)²: {name}",
        command="",
        primary="samples_per_second" if batch else "stall_share",
        systems=(System(name=name, peer=label, label=f"{label}, (DL)²", settings=f"{workers} workers"),),
        cells=(Cell(name=name, system=name),),
        runs=tuple(runs),
        blocks=len(runs),
        manifest={"source": "DLLogger stream of (DL)²"},
        work={key: parameters[key] for key in ("arch", "batch_size", "workers", "image_size") if key in parameters},
        findings=(
            Finding(
                name="imported",
                severity="note",
                message="Epochs of one process stand for blocks, the first among them, which has the start in it; "
                "only printed iterations are known.",
            ),
        ),
    )


def _run(bare: Run, found: Mapping[int, tuple[float, float]], batch: int, totals: Mapping[int, float]) -> Run:
    """Give a run its values: the waits and the times of an epoch's iterations."""
    waited, whole = [wait for wait, _ in found.values()], [seconds for _, seconds in found.values()]
    seconds, total = sum(whole), totals.get(bare.raw["epoch"])
    values: dict[str, float] = {"seconds": seconds, "longest_wait_seconds": max(waited)}
    if seconds:
        values["stall_share"] = sum(waited) / seconds
    if batch and seconds:
        values |= {"samples": batch * len(whole), "samples_per_second": batch * len(whole) / seconds}
    thought = tuple(max(0.0, each - wait) for wait, each in found.values())
    epochs = (Epoch(samples=batch * len(whole), seconds=total, counted=True),) if total else ()
    return replace(bare, values=values, epochs=epochs, steps=Steps(wait_seconds=tuple(waited), think_seconds=thought))
