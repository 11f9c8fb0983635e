"""Measure one layer: its settings varied over factors, each cell in blocks, each run a process of its own."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench import layers
from penstock.bench.machine import medium
from penstock.bench.race import race
from penstock.bench.run import DEADLINE_SECONDS
from penstock.bench.study import Event, Job, study
from penstock.errors import UsageError
from penstock.results import Cell, Factor, Result, System

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.bench.case import Case

__all__ = ["bench", "bench_loaders"]

STEP_THINK_SECONDS = 0.05
LOADER_BATCHES = 20
PRIMARY = {"loader": "samples_per_second", "epoch": "samples_per_second", "step": "accelerator_use"}


def bench(
    layer: str,
    data: str,
    *,
    settings: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Sequence[Any]] | None = None,
    blocks: int = 5,
    seed: int = 0,
    is_quick: bool = False,
    deadline_seconds: float = DEADLINE_SECONDS,
    watch: Callable[[Event], None] = lambda _: None,
) -> Result:
    """Measure a layer that is no loader: `tensor`, `store`, `dataset` or `decode`."""
    module = layers.load(layer)
    known = [field.name for field in dataclasses.fields(module.Settings)]
    varied = {name: list(levels) for name, levels in (sweep or {}).items()}
    if strange := [name for name in (*(settings or {}), *varied) if name not in known]:
        raise UsageError(f"{layer} has no such setting", got=strange[0], expected=f"one of {', '.join(known[1:])}")
    first = module.Settings(data=data, **dict(settings or {}))
    combined = [dict(zip(varied, levels, strict=True)) for levels in product(*varied.values())]
    jobs = []
    for levels in combined:
        words = ", ".join(f"{factor} {level}" for factor, level in levels.items())
        made = dataclasses.asdict(replace(first, **levels))
        cell = Cell(name=f"{layer}, {words}" if words else layer, system=layer, levels=levels)
        jobs.append(Job(cell=cell, request={"task": "layer", "layer": layer, "settings": made}))
    is_here = "://" not in data
    name = Path(data.rstrip("/")).name
    work = {key: value for key, value in dataclasses.asdict(first).items() if key not in {"data", "endpoint", *varied}}
    options = [f"--set {key}={value}" for key, value in (settings or {}).items() if key != "endpoint"]
    options += [f"--sweep {factor}={','.join(map(str, levels))}" for factor, levels in varied.items()]
    return study(
        jobs,
        systems=[System(name=layer, peer=layer, label=module.LABEL, kind="bound")],
        factors=[Factor(name=factor, levels=tuple(levels)) for factor, levels in varied.items()],
        blocks=blocks,
        seed=seed,
        deadline_seconds=deadline_seconds,
        watch=watch,
        kind="bench",
        title=f"{module.LABEL}: {name}",
        command=f"penstock bench {layer} {name} --blocks {blocks} {' '.join(options)}".rstrip(),
        primary=module.PRIMARY,
        is_quick=is_quick,
        manifest={"data": {"name": name}, **({"medium": medium(Path(data))} if is_here else {})},
        work=work,
    )


def bench_loaders(layer: str, case: Case, peers: Sequence[str], **options: Any) -> Result:
    """Measure loaders: some batches with the start apart, whole epochs, or steps of a consumer."""
    if layer not in layers.OF_LOADERS:
        raise UsageError("no layer of loaders", got=layer, expected=f"one of {', '.join(layers.OF_LOADERS)}")
    primary = PRIMARY[layer]
    if layer == "loader" and not case.batches:
        case = replace(case, batches=LOADER_BATCHES)
    if (
        layer == "step"
        and not case.model
        and not case.think_seconds
        and "think_seconds" not in options.get("sweep", {})
    ):
        case = replace(case, think_seconds=STEP_THINK_SECONDS)
    if layer == "step" and (case.capacity or case.model):
        primary = "feed_capacity_samples_per_second" if case.capacity else "samples_per_second"
    titles = {"loader": "Some batches, the start apart", "epoch": "Whole epochs", "step": "Steps of a consumer"}
    found = race(case, peers, kind_of_result="bench", title=titles[layer], primary=primary, **options)
    return replace(found, command=found.command.replace("penstock race", f"penstock bench {layer}", 1))
