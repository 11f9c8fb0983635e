"""Options as they are handed in: numbers, times and choices, or an error that says what was got and expected."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["one_of", "time_limit", "whole_number"]

_FOREVER_SECONDS = 1e9  # 30 years; threads cannot wait for infinity


def whole_number(given: Any, *, what: str, least: int | None = None) -> int:
    """Take a whole number, NumPy's among them."""
    expected = "a whole number" if least is None else f"a whole number, at least {least}"
    try:
        number = index(given)
    except TypeError:
        raise UsageError(what, got=repr(given), expected=expected) from None
    if least is not None and number < least:
        raise UsageError(what, got=number, expected=expected)
    return number


def time_limit(given: Any, *, what: str) -> float:
    """Take a time limit in seconds; infinity is one, too."""
    try:
        seconds = float(given) if not isinstance(given, str) else 0.0
    except TypeError:
        seconds = 0.0
    if not seconds > 0:
        raise UsageError(what, got=repr(given), expected="seconds, more than 0")
    return min(seconds, _FOREVER_SECONDS)


def one_of(known: Collection[Any], given: Any, *, what: str) -> None:
    """See that an option is one of those there are. Lists and other things without a hash may be asked about, too."""
    if not any(type(given) is type(one) and given == one for one in known):
        raise UsageError(what, got=repr(given), expected=" or ".join(map(repr, known)))
