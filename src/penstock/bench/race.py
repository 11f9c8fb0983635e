"""A race: loaders side by side over one image folder, all doing the same work, which is checked and not assumed.

The work is a `Case`; a peer's environment has its library. Gates come before numbers: in every run, every sample once
per epoch, in a shuffled order that changes, crops and flips of the distribution that was asked for, batches of the
shape and type that was asked for, no processor but those of the race, and the page cache in the state that was asked
for. A run that passes not all of them has no rate.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench import groups
from penstock.bench.environments import interpreter
from penstock.bench.machine import medium
from penstock.bench.peers import PEERS, kind
from penstock.bench.run import DEADLINE_SECONDS, ask, command
from penstock.bench.study import Event, Job, study, twins
from penstock.errors import UsageError
from penstock.results import Cell, Factor, Result, System

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.bench.case import Case

__all__ = ["race"]

REHEARSAL = "rehearsal"  # the folder beside the forms, of the small made-up images


def race(
    case: Case,
    peers: Sequence[str],
    *,
    blocks: int = 5,
    seed: int = 0,
    sweep: Mapping[str, Sequence[Any]] | None = None,
    environments: Path | None = None,
    is_quick: bool = False,
    rehearses: bool = True,
    kind_of_result: str = "race",
    title: str = "Loaders side by side",
    primary: str = "samples_per_second",
    deadline_seconds: float = DEADLINE_SECONDS,
    watch: Callable[[Event], None] = lambda _: None,
) -> Result:
    """Prepare every peer's form of the data, then race them in `blocks` blocks.

    `sweep` varies parts of the case: {"workers": [1, 2]} measures every peer at both. `environments` is the folder
    where `penstock race --setup` has put environments of peers. `watch` is told what happens.
    """
    unknown = [name for name in peers if name not in PEERS]
    if unknown:
        raise UsageError("no such peer", got=", ".join(unknown), expected=f"some of {', '.join(PEERS)}")
    if blocks < 1 or not peers:
        raise UsageError("race", got=f"{len(peers)} peers, {blocks} blocks", expected="at least one of each")
    varied = {name: list(levels) for name, levels in (sweep or {}).items()}
    cases = [(levels, replace(case, **levels)) for levels in _combined(varied)]
    files = case.files()
    rehearsed = _rehearsal(case) if rehearses else None
    prepared: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(peers):
        watch(Event("prepare", name))
        request = {"task": "prepare", "peer": name, "case": case.to_json(), "rehearsal": rehearsed}
        started_by = command(interpreter(name, environments))
        prepared[name] = ask(request, started_by=started_by, deadline_seconds=deadline_seconds)
    jobs = [
        _job(name, levels, each, prepared[name.partition("#")[0]], environments, rehearses=rehearses)
        for levels, each in cases
        for name in twins(peers)
    ]
    data = {"name": os.path.basename(case.data.rstrip("/")), "samples": len(files)}  # noqa: PTH119 a string
    data |= {"bytes": sum(os.stat(path).st_size for path, _ in files), "digest": case.digest()}  # noqa: PTH116 strings
    return study(
        jobs,
        systems=[_system(name, prepared[name.partition("#")[0]]) for name in twins(peers)],
        factors=[Factor(name=name, levels=tuple(levels)) for name, levels in varied.items()],
        blocks=blocks,
        seed=seed,
        deadline_seconds=deadline_seconds,
        watch=watch,
        kind=kind_of_result,
        title=f"{title}: {data['name']}",
        command=_command(case, peers, blocks, seed, varied),
        primary=primary,
        is_quick=is_quick,
        manifest={"data": data, "medium": medium(Path(case.data))},
        # Where the data lies is this machine's business: a published result has its name only.
        work={
            **{name: value for name, value in case.to_json().items() if name not in {"data", "forms", *varied}},
            "transforms": f"RandomResizedCrop({case.size}) and a horizontal flip, uint8",
        },
    )


def _combined(varied: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Combine all levels of all factors, the last factor varying fastest."""
    return [dict(zip(varied, levels, strict=True)) for levels in product(*varied.values())]


def _rehearsal(case: Case) -> dict[str, Any]:
    folder = Path(case.forms) / f"{Path(case.data).name}.{REHEARSAL}"
    # By name: children import this room in environments that have no Pillow.
    import_module("penstock.bench.rehearsal_images").write(folder)
    return rehearsal_of(case).to_json()


def rehearsal_of(case: Case) -> Case:
    """Give the case of the rehearsal that goes with a case."""
    folder = Path(case.forms) / f"{Path(case.data).name}.{REHEARSAL}"
    return replace(
        case,
        data=str(folder / "data"),
        forms=str(folder),
        think_seconds=0.0,
        model="",
        capacity=False,
        cache="warm",
        memory_bytes=0,
        batches=0,
        warmup_epochs=1,
    )


def _job(
    name: str,
    levels: Mapping[str, Any],
    case: Case,
    prepared: Mapping[str, Any],
    environments: Path | None,
    *,
    rehearses: bool,
) -> Job:
    peer = name.partition("#")[0]
    words = ", ".join(f"{factor} {level}" for factor, level in levels.items())
    request: dict[str, Any] = {"task": "time", "peer": peer, "case": case.to_json(), "cpus": case.workers}
    if rehearses:
        request["rehearsal"] = rehearsal_of(case).to_json()
    refusal = "" if prepared["status"] == "ok" else f"it could not be prepared: {prepared['message']}"
    if prepared["status"] == "refused":
        refusal = prepared["message"]
    return Job(
        cell=Cell(name=f"{name}, {words}" if words else name, system=name, levels=levels),
        request=request,
        interpreter=interpreter(peer, environments),
        refusal=refusal,
        failed=prepared["status"] not in {"ok", "refused"},
        group=_group(case),
    )


def _group(case: Case) -> Any:
    if case.cache == "limited":
        return partial(groups.limited, case.memory_bytes)
    return partial(groups.disk, Path(case.data)) if case.cache == "disk" else None


def _system(name: str, prepared: Mapping[str, Any]) -> System:
    peer = name.partition("#")[0]
    return System(
        name=name,
        peer=peer,
        label=prepared.get("label", peer),
        kind=kind(peer),
        settings=prepared.get("settings", ""),
        versions=prepared.get("versions", {}),
        form=prepared.get("form"),
        form_bytes=prepared.get("form_bytes"),
        form_seconds=prepared.get("made_seconds"),
    )


def _command(case: Case, peers: Sequence[str], blocks: int, seed: int, varied: Mapping[str, Sequence[Any]]) -> str:
    """Say how to do it again."""
    given: dict[str, Any] = {"peers": ",".join(peers), "blocks": blocks, "epochs": case.epochs}
    given |= {"workers": case.workers, "batch-size": case.batch_size, "size": case.size, "seed": seed}
    if case.cache != "warm":
        given["cache"] = case.cache
    if case.memory_bytes:
        given["memory"] = case.memory_bytes
    if case.think_seconds:
        given["think"] = case.think_seconds
    if case.model:
        given |= {"model": case.model, "device": case.device}
    name = os.path.basename(case.data.rstrip("/"))  # noqa: PTH119 a string
    options = [f"--{option} {value}" for option, value in given.items() if option not in varied]
    options += [f"--sweep {factor}={','.join(map(str, levels))}" for factor, levels in varied.items()]
    return f"penstock race {name} {' '.join(options)}"
