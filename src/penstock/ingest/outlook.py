"""What packing a source comes to, as far as that is known before any of it is read: a dry run."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.ingest.source import Skipped, Source

__all__ = ["Outlook", "outlook"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """A source, listed. What is broken inside the files shows only when they are packed."""

    kind: str
    samples: int
    fields: tuple[str, ...]
    bytes: int  # of the files, or parts of files, that would be read
    labels: tuple[str, ...]
    classes: dict[str, int] | None  # how many samples of each
    skipped: tuple[Skipped, ...]

    def as_dict(self) -> dict[str, Any]:
        """Give the outlook for JSON."""
        return asdict(self)

    @property
    def lost(self) -> tuple[Skipped, ...]:
        """What a pack would stop at."""
        return tuple(item for item in self.skipped if not item.is_expected)


def outlook(source: Source) -> Outlook:
    """Sum up what a source lists."""
    classes = None
    if source.classes is not None:
        counts = Counter(source.labels.column("label").to_pylist())
        classes = {name: counts[number] for number, name in enumerate(source.classes)}
    return Outlook(
        kind=source.kind,
        samples=len(source),
        fields=tuple(source.fields),
        bytes=source.bytes,
        labels=tuple(source.labels.column_names),
        classes=classes,
        skipped=source.skipped,
    )
