"""Results made by hand, for what draws conclusions from results."""

from __future__ import annotations

from typing import Any


def run(peer: str, number: int, rate: float | None, **other: Any) -> dict[str, Any]:
    """One run; rate None is a failure."""
    where = {"round": number, "position": 0, "peer": peer}
    if rate is None:
        return {**where, "status": "failed", "message": "Traceback\nImportError: no such library", **other}
    return {
        **where,
        "status": "ok",
        "label": f"The {peer} loader",
        "settings": "as documented <fast & plain>",
        "versions": {peer: "1.0"},
        "samples": 1000,
        "seconds": 1000 / rate,
        "rate": rate,
        "epoch_seconds": [1000 / rate],
        "warmup_seconds": [1.0],
        "first_batch_seconds": 0.5,
        "levels": [100.0, 101.0, 102.0],
        "digest": "d" * 16,
        "cpu_seconds": 2.0,
        "device_read_bytes": 0,
        "memory_bytes": 3 * 10**8,
        **other,
    }


def result(rates: dict[str, list[float | None]], **other: Any) -> dict[str, Any]:
    """A race in which each peer had these rates, round by round."""
    rounds = max(len(values) for values in rates.values())
    return {
        "format": 1,
        "kind": "race",
        "command": "penstock race photos --rounds 5",
        "case": {"data": "photos", "size": 224, "batch_size": 64, "workers": 2, "epochs": 2, "seed": 0},
        "data": {"samples": 1000, "bytes": 80_000_000},
        "machine": {
            "processor": "A Processor",
            "instruction_sets": ["avx2"],
            "cpus": 2,
            "memory_bytes": 24 * 10**9,
            "system": "Linux 6",
            "virtual": True,
            "python": "CPython 3.11",
            "load_before": 0.1,
        },
        "rounds": rounds,
        "seed": 0,
        "peers": list(rates),
        "prepared": {peer.partition("#")[0]: {"status": "ok", "form": None} for peer in rates},
        "runs": [run(peer, number, values[number]) for peer, values in rates.items() for number in range(rounds)],
        "agreement": {"digests": ["d" * 16], "level_spread": [1.0, 1.0, 1.0]},
        **other,
    }
