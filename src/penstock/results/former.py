"""Results of races from before there was this format (`"format": 1, "kind": "race"`), read as if they had been in it.

The published runs of the first months are of that kind. What they did not measure stays absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.results.result import FAILED, HUNG, OK, Cell, Epoch, Finding, Result, Run, System

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_former", "result"]

BOUNDS = {"turbo", "native", "disk", "decode"}
STATUS = {"ok": OK, "failed": FAILED, "hung": HUNG}
RENAMED = {
    "rate": "samples_per_second",
    "samples": "samples",
    "seconds": "seconds",
    "first_batch_seconds": "first_batch_seconds",
    "device_read_bytes": "device_read_bytes",
    "memory_bytes": "memory_bytes",
}


def is_former(value: Mapping[str, Any]) -> bool:
    """Whether this is a race's result of the former kind."""
    return value.get("format") == 1 and value.get("kind") == "race"


def result(value: Mapping[str, Any]) -> Result:
    """Translate a former result."""
    systems = tuple(_system(name, value) for name in value["peers"])
    return Result(
        kind="race",
        title=f"Loaders side by side: {value['case']['data']}",
        command=value["command"],
        primary="samples_per_second",
        systems=systems,
        cells=tuple(Cell(name=system.name, system=system.name) for system in systems),
        runs=tuple(map(_run, value["runs"])),
        blocks=value["rounds"],
        seed=value["seed"],
        manifest={
            "machine": value["machine"],
            "data": {"name": value["case"]["data"], **value["data"]},
            "revision": value.get("revision"),
        },
        work={name: part for name, part in value["case"].items() if name not in {"data", "forms"}},
        findings=_findings(value),
    )


def _system(name: str, value: Mapping[str, Any]) -> System:
    peer = name.partition("#")[0]
    told: Mapping[str, Any] = next((run for run in value["runs"] if run["peer"] == name and run["status"] == "ok"), {})
    prepared = value["prepared"][peer]
    return System(
        name=name,
        peer=peer,
        label=told.get("label", name),
        kind="ours" if peer.startswith("penstock") else "bound" if peer in BOUNDS else "other",
        settings=told.get("settings", ""),
        versions=told.get("versions", {}),
        form=prepared.get("form"),
        form_bytes=prepared.get("form_bytes"),
        form_seconds=prepared.get("made_seconds"),
    )


def _run(value: Mapping[str, Any]) -> Run:
    values = {name: value[former] for former, name in RENAMED.items() if value.get(former) is not None}
    if value.get("cpu_seconds") is not None:
        values["cpu_seconds_per_thousand"] = 1000 * value["cpu_seconds"] / value["samples"]
    epochs: tuple[Epoch, ...] = ()
    if value["status"] == "ok":
        each = value["samples"] // max(len(value["epoch_seconds"]), 1)
        epochs = (
            *(Epoch(samples=each, seconds=seconds, counted=False) for seconds in value["warmup_seconds"]),
            *(Epoch(samples=each, seconds=seconds, counted=True) for seconds in value["epoch_seconds"]),
        )
    return Run(
        cell=value["peer"],
        block=value["round"],
        position=value["position"],
        status=STATUS[value["status"]],
        message=value.get("message", ""),
        values=values,
        epochs=epochs,
        raw={name: value[name] for name in ("levels", "digest") if name in value},
    )


def _findings(value: Mapping[str, Any]) -> tuple[Finding, ...]:
    agreement = value["agreement"]
    if len(agreement["digests"]) > 1:
        return (Finding(name="samples", severity="invalid", message="Not all peers delivered the same samples."),)
    return ()
