"""The same call again and again for a while, by some threads: how many per second, and how long each took."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.bench.cost import Cost
from penstock.results import waits

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Calls", "repeat"]

TELL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Calls:
    """What repeating a call came to."""

    seconds: float  # from the first call's beginning to the last one's end
    took: tuple[float, ...]  # each call, in seconds
    byte_count: int
    cost: Cost | None

    def values(self) -> dict[str, float]:
        """Compute the metrics."""
        histogram, count = waits.count(self.took), len(self.took)
        found: dict[str, float] = {
            "samples": count,
            "seconds": self.seconds,
            "operations_per_second": count / self.seconds,
            "samples_per_second": count / self.seconds,
        }
        if self.byte_count:
            found |= {"payload_bytes": self.byte_count, "bytes_per_second": self.byte_count / self.seconds}
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            value = waits.percentile(histogram, share)
            if value is not None and (share < 0.9 or count >= 100):
                found[f"latency_{name}_seconds"] = value
        if self.cost is not None:
            found |= {
                "cpu_seconds_per_thousand": 1000 * self.cost.cpu_seconds / count,
                "device_read_bytes": self.cost.device_read_bytes,
                "requests_per_thousand": 1000 * self.cost.read_calls / count,
            }
        return found


def repeat(
    call: Callable[[int], int],
    *,
    seconds: float,
    threads: int = 1,
    warmup: int = 0,
    tell: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Calls:
    """Call with the numbers 0, 1, 2, … for some seconds, and add up the bytes that calls say they handled.

    The first `warmup` calls are not counted. What a call raises is raised here, when all threads have ended.
    """
    for number in range(warmup):
        call(number)
    lock, found, errors = threading.Lock(), list[tuple[float, float, int]](), list[BaseException]()
    numbers, before = iter(range(warmup, 2**62)), Cost.now()
    begin = time.perf_counter()
    end = begin + seconds

    def work() -> None:
        mine = list[tuple[float, float, int]]()
        try:
            while (now := time.perf_counter()) < end and not errors:
                with lock:
                    number = next(numbers)
                count = call(number)
                mine.append((now, time.perf_counter(), count))
        except BaseException as error:  # noqa: BLE001 handed to who asked
            errors.append(error)
        with lock:
            found.extend(mine)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        while worker.is_alive():
            worker.join(TELL_SECONDS)
            tell({"samples": 0, "seconds": 0})
    if errors:
        raise errors[0]
    after = Cost.now()
    last = max((stop for _, stop, _ in found), default=begin)
    cost = after.since(before) if after is not None and before is not None else None
    took = tuple(stop - start for start, stop, _ in found)
    return Calls(max(last - begin, 1e-9), took, sum(count for _, _, count in found), cost)
