"""The numbers that a run can have: what each means, in which unit, and whether more of it is better.

A rate is a total over a total (all samples by all seconds of the window), never a mean of rates. The window opens when
the first counted batch is asked for and closes when the last is delivered. Names end in their unit.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["METRICS", "Metric", "metric"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One kind of number."""

    name: str
    unit: str
    better: str  # "more", "less", or "" where neither is
    about: str


_ALL = (
    Metric("samples_per_second", "samples/s", "more", "Samples delivered, by the seconds of the whole window."),
    Metric("batches_per_second", "batches/s", "more", "Batches delivered, by the seconds of the whole window."),
    Metric("bytes_per_second", "B/s", "more", "Encoded bytes of the samples, by the seconds of the whole window."),
    Metric("operations_per_second", "1/s", "more", "Calls, by the seconds of the whole window."),
    Metric("samples", "samples", "", "Samples delivered while the clock ran."),
    Metric("seconds", "s", "", "The window: from asking for the first counted batch to the last one delivered."),
    Metric("first_batch_seconds", "s", "less", "From making the loader to its first batch: the sum of the next three."),
    Metric("import_seconds", "s", "less", "Importing the library; not part of first_batch_seconds."),
    Metric("construct_seconds", "s", "less", "Making the loader, until it gives an epoch."),
    Metric("start_seconds", "s", "less", "Asking the epoch for its iterator: workers start here, with most loaders."),
    Metric("fetch_first_seconds", "s", "less", "From there to the first batch."),
    Metric("first_epoch_samples_per_second", "samples/s", "more", "The rate of the first epoch, start-up included."),
    Metric("wait_p50_seconds", "s", "less", "Half of the steps waited no longer for their batch."),
    Metric("wait_p90_seconds", "s", "less", "Nine of ten steps waited no longer."),
    Metric("wait_p99_seconds", "s", "less", "99 of 100 steps waited no longer."),
    Metric("wait_p999_seconds", "s", "less", "999 of 1,000 steps waited no longer."),
    Metric("longest_wait_seconds", "s", "less", "The longest wait for a batch."),
    Metric("stall_share", "share", "less", "Time spent waiting, by the seconds of the window."),
    Metric("stalled_steps_share", "share", "less", "Steps that waited longer than 1 ms and 5 % of the think time."),
    Metric(
        "worker_period_score", "correlation", "less", "Autocorrelation of waits at a lag of as many steps as workers."
    ),
    Metric("accelerator_use", "share", "more", "Steps times nominal think time, by the seconds of the window: AU(t)."),
    Metric(
        "overshoot_share", "share", "less", "Think time beyond the nominal, by the window: sleep that woke up late."
    ),
    Metric("feed_capacity_samples_per_second", "samples/s", "more", "The fastest consumer whose AU is at least 0.90."),
    Metric("cpu_seconds_per_thousand", "s/1,000 samples", "less", "Processor time of all the loader's processes."),
    Metric("user_seconds_per_thousand", "s/1,000 samples", "less", "Of it, outside the kernel."),
    Metric("system_seconds_per_thousand", "s/1,000 samples", "less", "Of it, in the kernel."),
    Metric("memory_bytes", "B", "less", "Proportional set size of all processes when the window closed."),
    Metric("device_read_bytes", "B", "less", "Bytes read from block devices while the clock ran."),
    Metric("read_bytes", "B", "", "Bytes read through system calls while the clock ran: of files, pipes and sockets."),
    Metric("payload_bytes", "B", "", "Encoded bytes of the samples delivered while the clock ran."),
    Metric("delivered_bytes", "B", "", "Bytes of the tensors delivered while the clock ran."),
    Metric("read_amplification", "times", "less", "Bytes that came from the device or the store, by the payload."),
    Metric("requests_per_thousand", "1/1,000 samples", "less", "Requests to the store, or read calls on files."),
    Metric("major_faults", "faults", "less", "Page faults that had to wait for a device."),
    Metric("processes", "processes", "", "Processes of the loader, its own included, when the window closed."),
    Metric("threads", "threads", "", "Their threads."),
    Metric("latency_p50_seconds", "s", "less", "Half of the operations took no longer."),
    Metric("latency_p99_seconds", "s", "less", "99 of 100 operations took no longer."),
    Metric("encoded_bytes_per_sample", "B", "less", "Encoded bytes of a sample, in the mean of the set."),
)
METRICS = {metric.name: metric for metric in _ALL}


def metric(name: str) -> Metric:
    """Look a metric up; one that a newer version wrote is shown by its name alone."""
    return METRICS.get(name) or Metric(name, "", "", "")
