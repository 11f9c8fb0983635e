"""Steps one after another: what each waited, upwards, and what it thought, downwards. A saw-tooth shows as one.

Every track has its own height, for it is the pattern that is looked at here; how long the longest wait was is printed.
Where there are more steps than columns, a column shows the longest of its steps: nothing that was long is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.report.plots.bars import named
from penstock.report.plots.pen import framed, is_narrow, point, tag, text, width_of
from penstock.report.units import said

__all__ = ["Strip", "Track"]

UP, DOWN = 54.0, 16.0
COLUMNS = {True: 80, False: 200}  # by whether the drawing is narrow


@dataclass(frozen=True, slots=True)
class Track:
    """The steps of one run."""

    name: str
    kind: str
    waits: tuple[float, ...]  # seconds
    thinks: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Strip:
    """Tracks one below the other."""

    title: str
    tracks: tuple[Track, ...]

    def svg(self, width: int) -> str:
        """Draw."""
        narrow = is_narrow(width)
        row = 26 + UP + DOWN + 8
        parts = []
        for number, track in enumerate(self.tracks):
            y = row * number
            longest = max(track.waits)
            words = f"longest {said(longest, 's')}"
            parts.append(named(track.name, track.kind, 2, y + 21, narrow=True, room=width - width_of(words) - 12))
            parts.append(text(width - 2, y + 16, words, "soft end"))
            parts.append(tag("line", x1=0, x2=width, y1=y + 26 + UP, y2=y + 26 + UP, class_="grid"))
            parts.append(
                tag("g", "".join(self._columns(track, y + 26 + UP, width, narrow=narrow)), data_name=track.name)
            )
        parts.append(text(width - 2, row * len(self.tracks) + 12, "steps →  up: waiting, down: thinking", "soft end"))
        return framed(parts, width=width, height=row * len(self.tracks) + 20, title=self.title)

    @staticmethod
    def _columns(track: Track, floor: float, width: int, *, narrow: bool) -> list[str]:
        steps = len(track.waits)
        each = -(-steps // COLUMNS[narrow])  # steps of a column
        columns = -(-steps // each)
        wide = width / columns
        tall = UP / (max(track.waits) or 1.0)
        deep = DOWN / (max(track.thinks, default=0.0) or 1.0)
        drawn = []
        for column in range(columns):
            first, last = column * each, min((column + 1) * each, steps) - 1
            wait, think = max(track.waits[first : last + 1]), max(track.thinks[first : last + 1], default=0.0)
            x, thick = column * wide, max(wide * 0.85, 0.6)
            marks = [
                tag("rect", x=x, y=floor - UP, width=wide, height=UP + DOWN, class_="hit"),
                tag("rect", x=x, y=floor - wait * tall, width=thick, height=wait * tall, class_="waiting"),
            ]
            if think:
                marks.append(tag("rect", x=x, y=floor + 1, width=thick, height=think * deep, class_="thinking"))
            where = f"step {first}" if first == last else f"steps {first} to {last}, the longest"
            words = f"{track.name}, {where}: waited {said(wait, 's')}"
            words += f", thought {said(think, 's')}" if think else ""
            drawn.append(point(words, "".join(marks), kind="column", data={"wait": float(wait), "first": str(first)}))
        return drawn
