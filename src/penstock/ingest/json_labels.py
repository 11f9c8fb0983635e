"""Labels out of JSON: one object per sample, as GulpIO and others keep them. Pure.

A member is a column of its own type where every sample has it and all values are of one kind: truth, whole numbers,
numbers, text (text may be missing). Whatever else there is, lists, objects, numbers that some samples lack, becomes a
column of JSON text, so that nothing is lost. A name that labels cannot have gets `meta_` in front.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["json_columns", "member_at"]

_TAKEN = frozenset({"key", "file", "image", "clip", "mask", "label"})


def member_at(said: Mapping[str, Any], name: str) -> Any:
    """Give a member, or with dots in the name one of an object inside; None where there is none."""
    if name in said:
        return said[name]
    found: Any = said
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def json_columns(said: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Make columns of what is said of the samples, in the order in which members are first met."""
    columns: dict[str, pa.Array] = {}
    for name in dict.fromkeys(name for one in said for name in one):
        column = _column([one.get(name) for one in said], is_whole=all(name in one for one in said))
        fit = f"meta_{name.replace('.', '_')}" if not name or "." in name or name in _TAKEN else name
        while fit in columns:
            fit += "_"
        columns[fit] = column
    return columns


def _column(values: list[Any], *, is_whole: bool) -> pa.Array:
    kinds = {type(value) for value in values}
    try:
        if kinds <= {str, type(None)} and str in kinds:
            return pa.array(values, pa.string())
        if is_whole and kinds == {bool}:
            return pa.array(values, pa.bool_())
        if is_whole and kinds == {int}:
            return pa.array(values, pa.int64())
        if is_whole and kinds <= {int, float}:
            return pa.array([float(value) for value in values], pa.float64())
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):  # larger than 64 bits; text that is no Unicode
        pass
    return pa.array([None if value is None else json.dumps(value) for value in values], pa.string())
