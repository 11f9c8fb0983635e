"""The summary of DLIO and of MLPerf Storage: `summary.json`, one number for each thing over all epochs.

`metric` has means and deviations over epochs, lists of what each epoch had, or both, by the version that wrote it.
Where the epochs are there, each becomes a run; otherwise the mean becomes the only one. Accelerator use is a percentage
there and a share here; DLIO takes what its sleep really lasted for useful time, which flatters a busy host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import FormatError
from penstock.results.result import OK, Cell, Finding, Result, Run, System

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["result"]

# Their name, the list of epochs first and then the mean; ours; what to multiply with.
FIELDS = (
    ("train_throughput_samples_per_second", "train_throughput_mean_samples_per_second", "samples_per_second", 1.0),
    ("train_au_percentage", "train_au_mean_percentage", "accelerator_use", 0.01),
    ("", "train_io_mean_MB_per_second", "bytes_per_second", 1e6),
)


def _numbers(value: Any) -> list[float]:
    """Read one number, or some."""
    if isinstance(value, bool):
        return []
    if isinstance(value, (int, float)):
        return [float(value)]
    if isinstance(value, str):  # "97.5 96.1 98.0", as some versions write it
        words = value.replace(",", " ").split()
        return [float(word) for word in words if word.replace(".", "", 1).replace("-", "", 1).isdigit()]
    return [float(one) for one in value if isinstance(one, (int, float))] if isinstance(value, list) else []


def result(value: Any, name: str, *, file: str) -> Result:
    """Translate a summary."""
    metrics: Mapping[str, Any] = value.get("metric") if isinstance(value, dict) else None  # type: ignore[assignment]
    if not isinstance(metrics, dict):
        raise FormatError("no summary of DLIO", file=file, expected="an object with `metric` in it")
    series: dict[str, list[float]] = {}
    for each, mean, ours, factor in FIELDS:
        found = _numbers(metrics.get(each)) or _numbers(metrics.get(mean))
        if found:
            series[ours] = [factor * one for one in found]
    if not series:
        raise FormatError("no number that is known is in the summary", file=file, expected=f"one of {FIELDS[0][:2]}")
    epochs = max(map(len, series.values()))
    runs = tuple(
        Run(
            cell=name,
            block=block,
            position=0,
            status=OK,
            values={ours: numbers[block] for ours, numbers in series.items() if block < len(numbers)},
        )
        for block in range(epochs)
    )
    hosts, devices = value.get("num_hosts"), value.get("num_accelerators")
    machine = {"cpus": value.get("host_cpu_count"), "memory_bytes": _memory(value.get("host_memory_GB"))}
    missing = "" if epochs > 1 else " Only the mean over epochs is known."
    return Result(
        kind="imported",
        title=f"DLIO: {name}",
        command="",
        primary="samples_per_second" if "samples_per_second" in series else next(iter(series)),
        systems=(System(name=name, peer="dlio", label=f"DLIO, {devices} emulated accelerators on {hosts} hosts"),),
        cells=(Cell(name=name, system=name),),
        runs=runs,
        blocks=epochs,
        begun=str(value.get("start") or ""),
        ended=str(value.get("end") or ""),
        manifest={
            "source": "summary of DLIO or MLPerf Storage",
            "machine": {key: part for key, part in machine.items() if part is not None},
            "data": {"samples": value.get("num_files_train", 0) * (value.get("num_samples_per_file") or 1)},
        },
        work={"accelerators": devices, "hosts": hosts},
        findings=(
            Finding(
                name="imported",
                severity="note",
                message=f"DLIO counts late awakenings of its sleep as use of the accelerator.{missing}",
            ),
        ),
    )


def _memory(value: Any) -> int | None:
    found = _numbers(value if not isinstance(value, list) else value[:1])
    return int(found[0] * 1e9) if found else None
