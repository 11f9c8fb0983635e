"""What a study is doing just now, on stderr: which run of how many, its rate, a sparkline of it, how long it will take.

On a terminal this is one line that changes. Elsewhere (a log, a pipe) it is one line per run, when it is over.
The time that is left is guessed from runs of the same cell, or of all, so far.
"""

from __future__ import annotations

import time
from collections import deque
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

if TYPE_CHECKING:
    from types import TracebackType

    from penstock.bench import Event

__all__ = ["Watcher", "sparkline"]

BLOCKS = "▁▂▃▄▅▆▇█"
POINTS = 24
WORDS = 60  # of a failure


def sparkline(values: list[float]) -> str:
    """Draw values as blocks, from zero to the largest."""
    most = max(values, default=0.0)
    if most <= 0:
        return BLOCKS[0] * len(values)
    return "".join(BLOCKS[min(len(BLOCKS) - 1, int(len(BLOCKS) * value / most))] for value in values)


def spoken(seconds: float) -> str:
    """Say a duration: 45 s, 3 min, 1 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


class Watcher:
    """Watches a study: called with its events, used as a context."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live = Live(console=self._console, transient=True, refresh_per_second=4)
        self._rates: deque[float] = deque(maxlen=POINTS)
        self._took: dict[str, list[float]] = {}
        self._begun = time.monotonic()
        self._words = "listing"

    def __enter__(self) -> Watcher:  # noqa: PYI034 final in all but name
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        if event.kind == "prepare":
            self._words = f"preparing {event.cell}"
        elif event.kind == "begin":
            self._rates.clear()
            self._begun = time.monotonic()
            self._words = f"run {event.done + 1} of {event.total}: {event.cell}{self._left(event)}"
        elif event.kind == "progress" and event.seconds > 0:
            self._rates.append(event.samples / event.seconds)
        elif event.kind == "end":
            self._took.setdefault(event.cell, []).append(time.monotonic() - self._begun)
            self._console.print(self._ended(event), highlight=False)
        rate = f"  {self._rates[-1]:,.0f}/s {sparkline(list(self._rates))}" if self._rates else ""
        self._live.update(Text(self._words + rate))

    def _left(self, event: Event) -> str:
        """Say how long it will still take; nothing before the first run is over."""
        if not self._took:
            return ""
        mean = fmean(one for took in self._took.values() for one in took)
        return f", about {spoken(mean * (event.total - event.done))} left"

    def _ended(self, event: Event) -> Text:
        run: Any = event.run
        if run is None:
            return Text(f"{event.cell}: over")
        if not run.is_ok:
            said = (run.message.splitlines() or [""])[-1][:WORDS]
            return Text(f"{event.done}/{event.total} {event.cell}: {run.status}: {said}", style="red")
        rates = {name: value for name, value in run.values.items() if name.endswith("_per_second")}
        name, rate = next(iter(rates.items()), ("seconds", run.values.get("seconds", 0.0)))
        line = sparkline(list(self._rates))
        return Text(f"{event.done}/{event.total} {event.cell}: {rate:,.4g} {name.replace('_', ' ')}  {line}")
