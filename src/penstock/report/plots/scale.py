"""From numbers to places on an axis, and which numbers to write at it. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Scale", "linear", "logarithmic", "ticks"]


@dataclass(frozen=True, slots=True)
class Scale:
    """A stretch of numbers on a stretch of the drawing; logarithmic, or even."""

    low: float
    high: float
    start: float
    end: float
    marks: tuple[float, ...]
    is_log: bool = False

    def place(self, value: float) -> float:
        """Give where a number lies. Numbers beyond the ends lie at them."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.is_log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return self.start + (at - low) / (high - low) * (self.end - self.start)


def ticks(top: float, about: int = 5) -> list[float]:
    """Choose round numbers from 0 to at least `top`."""
    if top <= 0:
        return [0.0, 1.0]
    rough = top / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return [step * number for number in range(math.ceil(top / step - 1e-9) + 1)]


def linear(top: float, start: float, end: float, about: int = 5) -> Scale:
    """Make an even scale from zero."""
    marks = ticks(top, about)
    return Scale(0.0, marks[-1], start, end, tuple(marks))


def logarithmic(low: float, high: float, start: float, end: float, most: int = 8) -> Scale:
    """Make a logarithmic scale around numbers above zero; marked at decades, or finer where these are few."""
    if low <= 0:
        raise ValueError("a logarithmic scale is of numbers above zero")
    high = max(high, low * 1.25)
    decades = math.log10(high / low)
    first = math.floor(math.log10(low) + 1e-9)
    grid = [
        (factor, factor * 10.0**n) for n in range(first - 1, math.ceil(math.log10(high)) + 2) for factor in (1, 2, 5)
    ]
    bottom = max(mark for _, mark in grid if mark <= low * (1 + 1e-9))
    top = min(mark for _, mark in grid if mark >= high * (1 - 1e-9))
    is_fine = decades <= 2
    marks = [mark for factor, mark in grid if bottom <= mark <= top and (is_fine or factor == 1)]
    every = math.ceil(len(marks) / most)
    return Scale(bottom, top, start, end, tuple(marks[::every]), is_log=True)
