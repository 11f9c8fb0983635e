"""Factors as people write them: `workers=1,2,4`, `memory=300MB,600MB`, `cache=warm,cold`."""

from __future__ import annotations

import dataclasses
from typing import Any, get_type_hints

import click

from penstock.cli.quantities import as_bytes

__all__ = ["as_levels", "short_names"]

TRUTHS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
SHORT = {"memory": "memory_bytes", "think": "think_seconds"}


def short_names(name: str) -> str:
    """Give the field that is meant: batch-size is batch_size, think is think_seconds."""
    name = name.strip().replace("-", "_")
    return SHORT.get(name, name)


def as_levels(kind: type[Any], given: tuple[str, ...]) -> dict[str, list[Any]]:
    """Read factors and their levels, each as the type that the field of `kind` has."""
    types = get_type_hints(kind)
    fields = [field.name for field in dataclasses.fields(kind)]
    found: dict[str, list[Any]] = {}
    for one in given:
        name, equals, levels = one.partition("=")
        name = short_names(name)
        if name not in fields or not equals:
            known = ", ".join(field for field in fields if field not in {"data", "forms"})
            raise click.BadParameter(f"{one!r}: write NAME=LEVEL,LEVEL with a name of {known}", param_hint="--sweep")
        words = [word.strip() for word in levels.split(",") if word.strip()]
        if not words:
            raise click.BadParameter(f"{one!r} has no level", param_hint="--sweep")
        found[name] = [_level(name, types[name], word) for word in words]
    return found


def _level(name: str, kind: Any, word: str) -> Any:
    if name.endswith("_bytes"):
        return 0 if word == "0" else as_bytes(None, None, word)  # type: ignore[arg-type]
    if kind is bool:
        if word.lower() not in TRUTHS:
            raise click.BadParameter(f"{name}: {word!r} is neither yes nor no", param_hint="--sweep")
        return TRUTHS[word.lower()]
    try:
        return kind(word) if kind in {int, float} else word
    except ValueError as error:
        expected = "a whole number" if kind is int else "a number"
        raise click.BadParameter(f"{name}: {word!r} is not {expected}", param_hint="--sweep") from error
