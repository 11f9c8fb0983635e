"""Results made by hand, for what draws conclusions from results."""

from __future__ import annotations

from typing import Any

from penstock.results import Cell, Factor, Result, Run, System


def run(cell: str, block: int, value: float | None, **other: Any) -> Run:
    """One run by its rate; None is a failure."""
    if value is None:
        return Run(cell=cell, block=block, position=0, status="failed", message="ImportError: no such library", **other)
    values = {"samples_per_second": value, "samples": 1000, "seconds": 1000 / value}
    return Run(cell=cell, block=block, position=0, status="ok", values=values, **other)


def race(rates: dict[str, list[float | None]], **other: Any) -> Result:
    """A race in which each system had these rates, block by block; "b#2" is a twin of "b"."""
    fields = {
        "kind": "race",
        "title": "Loaders side by side",
        "command": "penstock race photos",
        "primary": "samples_per_second",
        "systems": tuple(System(name=name, peer=name.partition("#")[0], label=name) for name in rates),
        "cells": tuple(Cell(name=name, system=name) for name in rates),
        "runs": tuple(run(name, block, rate) for name, all_ in rates.items() for block, rate in enumerate(all_)),
        "blocks": max(map(len, rates.values())),
        "manifest": {"machine": {"load_before": 0.1}, "data": {"name": "photos", "samples": 500, "bytes": 10**6}},
    }
    return Result(**{**fields, **other})


def sweep(values: dict[tuple[str, int], list[float | None]], **other: Any) -> Result:
    """A study in which each (system, workers) had these rates, block by block."""
    names = {key: f"{key[0]}, workers {key[1]}" for key in values}
    made = race({names[key]: rates for key, rates in values.items()})
    systems = dict.fromkeys(system for system, _ in values)
    fields = {
        "systems": tuple(System(name=name, peer=name, label=name) for name in systems),
        "factors": (Factor(name="workers", levels=tuple(dict.fromkeys(workers for _, workers in values))),),
        "cells": tuple(Cell(name=names[key], system=key[0], levels={"workers": key[1]}) for key in values),
    }
    made_fields = {name: getattr(made, name) for name in made.__dataclass_fields__}
    return Result(**{**made_fields, **fields, **other})
