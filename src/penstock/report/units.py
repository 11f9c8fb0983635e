"""How numbers are said: with three or four digits, a thin set of units, the same in plots, tables and sentences. Pure.

An axis has one unit for all of its numbers; a number in a sentence has the unit that suits it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Unit", "digits", "said", "spoken_share", "unit_for"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit to show numbers in: each is multiplied by `times`."""

    name: str
    times: float = 1.0

    def of(self, value: float) -> str:
        """Write a number in this unit, without its name."""
        return digits(value * self.times)

    def say(self, value: float) -> str:
        """Write a number with the unit's name."""
        return f"{self.of(value)}{'' if self.name in {'', '%'} else ' '}{self.name}"


_SECONDS = ((1.0, Unit("s")), (1e-3, Unit("ms", 1e3)), (0.0, Unit("µs", 1e6)))
_BYTES = ((1e9, "G", 1e-9), (1e6, "M", 1e-6), (1e3, "k", 1e-3), (0.0, "", 1.0))


def unit_for(name: str, largest: float) -> Unit:
    """Choose how to show numbers of a metric's unit, the largest of which is given."""
    largest = abs(largest)
    if name == "s":
        return next(unit for least, unit in _SECONDS if largest >= least)
    if name in {"B", "B/s"}:
        prefix, times = next((prefix, times) for least, prefix, times in _BYTES if largest >= least)
        return Unit(prefix + name, times)
    if name == "share":
        return Unit("%", 100)
    if name == "s/1,000 samples":
        return Unit("ms/sample")
    return Unit(name)


def said(value: float, name: str) -> str:
    """Say one number of a metric's unit: "5,899 samples/s", "12.3 ms"."""
    return unit_for(name, value).say(value)


def spoken_share(value: float) -> str:
    """Say a share as a percentage."""
    return f"{digits(100 * value)}%"


def digits(value: float) -> str:
    """Write a number: whole from a thousand on, with three digits below."""
    size = abs(value)
    if size >= 999.5:
        return f"{value:,.0f}"
    if size >= 1e-3 or size == 0:
        places = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3
        text = f"{value:.{places}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.2e}"
