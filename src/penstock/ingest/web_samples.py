"""Samples of a tar in the WebDataset convention: members that follow one another and share a key.

A member's name up to the first dot of its base name is the key; the rest is its extension, and says what it is:

    jpg jpeg png webp …   the image; `mask.png` is a field of its own, `mask`
    00001.jpg, 00002.jpg  five digits or more: the frames of a clip, as `penstock export` writes them
    cls                   a whole number, the label
    txt                   text, the column `txt`
    json                  an object: each of its members is a column

Anything else is counted and passed over. What is wrong with one sample is that sample's, what is wrong with the archive
is the archive's: everything before it counts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from penstock.errors import SourceError
from penstock.ingest.listing import IMAGE_SUFFIXES
from penstock.ingest.source import BROKEN, UNREADABLE, Skipped, shown
from penstock.ingest.tar_walk import DIRECTORY, REGULAR, SPARSE, Entry, walk
from penstock.shard.members import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.ingest.windowed import Windowed

__all__ = ["Picture", "Sample", "TarSamples", "samples_of"]

_NAME = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)", re.DOTALL)
_FRAME = re.compile(r"(?:(\w*clip)\.)?(\d{5,18})\.jpe?g")
_METADATA = re.compile(r"__[^/]*__(?:/|$)")
_LEADS_OUT = re.compile(r"(?:^|/)\.\.(?:/|$)")
_LABELS = {"cls", "txt", "json"}
_LARGEST_LABEL = 1 << 20
_LINKS = {"1": "a hard link", "2": "a symbolic link", SPARSE: "a sparse file"}


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of a sample, or a clip: from its first frame to its last."""

    offset: int
    length: int
    suffix: str  # of the member's name, with the dot
    frames: tuple[tuple[int, int], ...] | None = None  # of a clip: where in it each one is, and how long


@dataclass(frozen=True, slots=True)
class Sample:
    """The members of one key."""

    key: str
    pictures: dict[str, Picture]
    labels: dict[str, Any]


@dataclass(slots=True)
class TarSamples:
    """What is in a tar."""

    samples: list[Sample] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)  # by what they are: too many to be named


def samples_of(file: Windowed) -> TarSamples:
    """Walk a tar."""
    found = _Grouping(file)
    try:
        for entry in walk(file.read, file.size):
            found.add(entry)
    except SourceError as error:
        error.file = None
        found.break_off(error)
    else:
        found.close()
    return found.result


@final
class _Grouping:
    """Collects members into samples."""

    def __init__(self, file: Windowed) -> None:
        self.file = file
        self.result = TarSamples()
        self.key: str | None = None
        self.members: dict[str, tuple[str, Entry]] = {}  # by extension in small letters: as it is, and the member
        self.done: set[str] = set()

    def add(self, entry: Entry) -> None:
        """Take the next member."""
        if entry.kind == DIRECTORY:
            return
        name = entry.name.removeprefix("./")
        match = _NAME.fullmatch(name)
        if match is None or _METADATA.match(name):
            self.result.passed_over["members without a key and an extension"] += 1
            return
        if entry.kind != REGULAR or _LEADS_OUT.search(name) or name.startswith("/"):
            what = "its name leads out of the archive" if entry.kind == REGULAR else None
            self.skip(
                name, UNREADABLE, what or f"it is {_LINKS.get(entry.kind, f'of type {entry.kind!r}')}, not a file"
            )
            return
        key, extension = match[1], match[2]
        if key != self.key:
            self.close()
            self.key = key
        if extension.lower() in self.members:
            self.skip(name, BROKEN, "its sample has two members of this extension")
        else:
            self.members[extension.lower()] = (extension, entry)

    def skip(self, name: str, outcome: str, why: str) -> None:
        """Report something."""
        self.result.skipped.append(Skipped(f"{shown(self.file.name)}: {shown(name)}", outcome, why))

    def break_off(self, error: SourceError) -> None:
        """End where the archive is broken. Its last sample may lack members: it counts only if the tar just ends."""
        where = error.byte_range
        is_whole = where is not None and where[0] == self.file.size
        if is_whole:
            self.close()
        elif self.key is not None:
            self.skip(self.key, BROKEN, "the tar breaks off behind its first members")
        self.result.skipped.append(Skipped(shown(self.file.name), BROKEN, str(error)))

    def close(self) -> None:
        """Make a sample of the members so far."""
        if self.key is None:
            return
        key, members = self.key, self.members
        self.key, self.members = None, {}
        if key in self.done:
            self.skip(key, BROKEN, "its members do not follow one another: it was there before")
            return
        self.done.add(key)
        try:
            sample = self.sample(key, members)
        except SourceError as error:
            self.skip(key, BROKEN, str(error))
            return
        self.result.samples.append(sample)

    def sample(self, key: str, members: dict[str, tuple[str, Entry]]) -> Sample:
        """Sort members into images and labels."""
        pictures: dict[str, Picture] = {}
        frames: dict[str, dict[int, Entry]] = {}
        labels: dict[str, Any] = {}
        for extension, (written, entry) in members.items():
            prefix, _, last = extension.rpartition(".")
            clip = _FRAME.fullmatch(extension)
            if clip is not None:
                of_clip = frames.setdefault(clip[1] or "clip", {})
                if int(clip[2]) in of_clip:
                    raise SourceError(f"it has two frames {int(clip[2])}")
                of_clip[int(clip[2])] = entry
            elif f".{last}" in IMAGE_SUFFIXES and shown(prefix) == prefix:
                name = prefix.replace(".", "_") or "image"
                name = f"{name}_image" if kind_of(name) == "clip" else name
                if name in pictures:
                    raise SourceError(f"it has two images that are its {name}")
                pictures[name] = Picture(entry.offset, entry.length, f".{written}")
            elif last in _LABELS and entry.length <= _LARGEST_LABEL:
                for name, value in self.label(prefix, last, entry).items():
                    if name not in labels or last == "cls":
                        labels[name] = value
            else:
                self.result.passed_over[f"members in .{shown(extension)}"] += 1
        pictures |= {name: _clip([one[number] for number in sorted(one)]) for name, one in frames.items()}
        return Sample(key, pictures, labels)

    def label(self, prefix: str, kind: str, entry: Entry) -> dict[str, Any]:
        """Read a member that holds labels."""
        data = self.file.read(entry.offset, entry.length)
        try:
            text = data.decode("utf-8")
            if kind == "txt":
                return {prefix or "txt": text}
            if kind == "cls":
                return {prefix or "label": int(text)}
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            what = "its .cls is no whole number" if kind == "cls" else f"its .{kind} cannot be read"
            raise SourceError(what, got=f"{data[:40]!r}: {error!s:.80}") from None
        if isinstance(value, dict) and not prefix:
            return value
        return {prefix or "json": value}


def _clip(frames: Sequence[Entry]) -> Picture:
    """Join frames: headers lie between them."""
    begin = min(frame.offset for frame in frames)
    end = max(frame.offset + frame.length for frame in frames)
    return Picture(begin, end - begin, "", tuple((frame.offset - begin, frame.length) for frame in frames))
