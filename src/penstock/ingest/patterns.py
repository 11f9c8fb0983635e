"""Names of many files in one: braces, stars, folders.

    x-{000000..000012}.tar    numbers in a row, with as many digits as the first has
    {train,val}.tar           one after another
    x-*.tar                   what there is, sorted (also ? and […])

Braces say what there must be: a file that is missing is an error. Stars take what there is.
"""

from __future__ import annotations

import re
from itertools import product

from penstock.errors import UsageError
from penstock.ingest.source import shown

__all__ = ["STARS", "expanded", "has_stars"]

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_MOST = 1_000_000
STARS = "*?["


def has_stars(pattern: str) -> bool:
    """Whether a name stands for whatever fits it."""
    return any(letter in STARS for letter in pattern)


def expanded(pattern: str) -> list[str]:
    """Give the names that a pattern with braces stands for, in order; the pattern itself where it has none."""
    parts = _BRACES.split(pattern)  # texts and insides of braces take turns
    choices = [_choices(part, pattern) if at % 2 else [part] for at, part in enumerate(parts)]
    count = 1
    for one in choices:
        count *= len(one)
        if count > _MOST:
            raise UsageError("the pattern stands for too many files", file=shown(pattern), expected=f"at most {_MOST}")
    return ["".join(one) for one in product(*choices)]


def _choices(inside: str, pattern: str) -> list[str]:
    found = _RANGE.fullmatch(inside)
    if found is None:
        if "," not in inside:
            expected = "{000000..000012} or {one,other}"
            raise UsageError("these braces stand for nothing", file=shown(pattern), got=inside, expected=expected)
        return inside.split(",")
    first, last = int(found[1]), int(found[2])
    if first > last or last - first >= _MOST:
        expected = f"the smaller number first, and at most {_MOST} of them"
        raise UsageError("these braces stand for nothing", file=shown(pattern), got=inside, expected=expected)
    return [f"{number:0{len(found[1])}d}" for number in range(first, last + 1)]
