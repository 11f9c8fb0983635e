"""What holds for every kind of source, written once. A kind's tests say how to make one and what it must give.

    CASE = Case("20bn-frames", made, change, lose)

    @pytest.mark.parametrize("check", CHECKS, ids=name)
    def test_a_source_of_this_kind(check, tmp_path):
        check(CASE, tmp_path)

Each check makes the source anew in a folder of its own. What is compared with is what the test itself wrote (`Made`),
and for pixels Pillow's decode of it.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

import penstock
from penstock.errors import SourceError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, kind_named, open_source
from tests import clips, folders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from penstock.dataset import Dataset
    from penstock.ingest.source import Source

__all__ = ["CHECKS", "Case", "Made", "name"]


@dataclass(frozen=True)
class Made:
    """A source that was made, and what it must give, sample by sample."""

    path: str
    keys: list[str]
    pictures: list[list[bytes]]  # of each sample: one is an image, several are the frames of a clip
    labels: dict[str, list[Any]] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    options: dict[str, Any] = field(default_factory=dict)  # what `pack` is told besides the path
    is_exact: bool = True  # False: pictures are decoded and encoded on the way (videos), so only their number is known


@dataclass(frozen=True)
class Case:
    """A kind of source under test."""

    kind: str  # as `--source` says it
    made: Callable[[Path], Made]  # at least four samples, all good
    change: Callable[[Path], None]  # makes one item another one, at any size, with any time
    lose: Callable[[Path], str]  # takes away or breaks one item; gives what the report must call it
    is_plain: bool = True  # False: it is only taken where `kind` says so
    is_of_files: bool = False  # its images are files of their own, so that it can be opened in place as a folder can


def name(check: Callable[..., None]) -> str:
    """Give what pytest calls a check."""
    return check.__name__


def _opened(case: Case, made: Made) -> Source:
    return open_source(made.path, case.kind, Options(**made.options))


def _packed(case: Case, made: Made, destination: Path, **settings: Any) -> Dataset:
    penstock.pack(made.path, destination, kind=case.kind, seed=None, **made.options, **settings)
    assert penstock.verify(destination).is_sound
    return penstock.open(destination)


def _pictures(dataset: Dataset, number: int) -> list[bytes]:
    """Give the pictures of a sample as they are stored."""
    (field_,) = dataset.fields
    block = dataset.read([number], field_)
    data = block.data[block.offsets[0] : block.offsets[0] + block.lengths[0]].tobytes()
    frames = dataset.column(field_).frames
    if frames is None:
        return [data]
    inside = range(frames.first[number], frames.first[number + 1])
    return [data[frames.offset[at] : frames.offset[at] + frames.length[at]] for at in inside]


def _pixels(data: bytes) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def samples_are_listed_in_order_with_their_labels(case: Case, folder: Path) -> None:
    made = case.made(folder)
    source = _opened(case, made)
    assert source.keys == made.keys
    assert source.label_values() == made.labels
    assert source.classes == made.classes
    assert [item for item in source.skipped if not item.is_expected] == []
    assert len(source.fields) == 1
    for field_, items in source.fields.items():
        assert field_ in {"image", "clip"}
        assert (field_ == "clip") == (max(map(len, made.pictures)) > 1)
        assert len(items) == len(items.sizes) == len(items.suffixes) == len(made.keys)
        assert all(items.name(position).isprintable() for position in range(len(items)))


def what_is_read_is_what_was_written(case: Case, folder: Path) -> None:
    made = case.made(folder)
    (items,) = _opened(case, made).fields.values()
    for position in reversed(range(len(items))):  # in any order
        pictures = items.read(position)
        assert len(pictures) == len(made.pictures[position])
        if made.is_exact:
            assert pictures == made.pictures[position]
            assert items.sizes[position] >= sum(map(len, pictures))


def packing_keeps_every_byte_if_asked_and_every_pixel_if_not(case: Case, folder: Path) -> None:
    made = case.made(folder / "source")
    kept = _packed(case, made, folder / "kept.pen", **({"keep_bytes": True} if made.is_exact else {}))
    tiled = _packed(case, made, folder / "tiled.pen")
    for dataset in (kept, tiled):
        assert [dataset.key(number) for number in range(len(dataset))] == made.keys
        assert {label: dataset.index.column(label).to_pylist() for label in dataset.label_names} == made.labels
        assert dataset.classes == made.classes
    for number, expected in enumerate(made.pictures):
        assert len(_pictures(kept, number)) == len(_pictures(tiled, number)) == len(expected)
        if made.is_exact:
            assert _pictures(kept, number) == expected
            for stored, data in zip(_pictures(tiled, number), expected, strict=True):
                assert np.array_equal(_pixels(stored), _pixels(data))


def another_process_can_read_it(case: Case, folder: Path) -> None:
    made = case.made(folder)
    source = _opened(case, made)
    copy = pickle.loads(pickle.dumps(source))
    assert copy.digest() == source.digest()
    for field_, items in source.fields.items():
        assert copy.fields[field_].read(1) == items.read(1)


def its_digest_is_another_one_when_any_item_is(case: Case, folder: Path) -> None:
    made = case.made(folder)
    before = _opened(case, made).digest()
    assert _opened(case, made).digest() == before
    case.change(folder)
    assert _opened(case, made).digest() != before


def an_item_that_is_lost_is_named_and_the_others_are_packed(case: Case, folder: Path) -> None:
    made = case.made(folder / "source")
    lost = case.lose(folder / "source")
    with pytest.raises(SourceError) as caught:
        penstock.pack(made.path, folder / "raised.pen", kind=case.kind, **made.options)
    assert lost in str(caught.value)
    report = penstock.pack(made.path, folder / "skipped.pen", kind=case.kind, on_error="skip", **made.options)
    assert [item.name for item in report.skipped if not item.is_expected] == [lost]
    assert report.samples == len(made.keys) - 1
    assert penstock.verify(folder / "skipped.pen").is_sound


def it_takes_for_its_own_what_is_and_nothing_else(case: Case, folder: Path) -> None:
    made = case.made(folder / "own")
    assert (kind_at(made.path).name == case.kind) == case.is_plain
    others = {
        "image-folder": folders.classes(folder / "photos"),
        "20bn-frames": clips.frame_folders(folder / "clips"),
    }
    for kind, path in others.items():
        assert kind_at(str(path)).name == kind
    folders.write(folder, {"note.txt": b"text", "empty": b"", "noise.bin": bytes(range(256)) * 8})
    for stranger in ("note.txt", "empty", "noise.bin", "is not there"):
        assert not kind_named(case.kind).detects(str(folder / stranger))


def an_option_that_it_does_not_know_is_refused(case: Case, folder: Path) -> None:
    made = case.made(folder)
    known = {*kind_named(case.kind).options, "recipe", "access", "progress"}
    unknown = [option.name for option in fields(Options) if option.name not in known]
    for option in unknown:
        with pytest.raises(UsageError, match=f"a source of kind {case.kind} has no {option}"):
            open_source(made.path, case.kind, Options(**made.options, **{option: 1.0}))


def opened_in_place_it_is_the_same_as_packed(case: Case, folder: Path) -> None:
    """A kind that can be opened in place is; any other says that it must be packed first."""
    made = case.made(folder)
    opens = kind_named(case.kind).seen is not None or case.kind == "image-folder" or case.is_of_files
    if not (opens and case.is_plain):
        with pytest.raises(UsageError, match=r"in place|no dataset here"):
            penstock.open(made.path)
        return
    first = penstock.open(made.path)
    kept = penstock.open(made.path)  # the index of the first is found again
    for dataset in (first, kept, pickle.loads(pickle.dumps(kept))):
        assert [dataset.key(number) for number in range(len(dataset))] == made.keys
        assert {label: dataset.index.column(label).to_pylist() for label in dataset.label_names} == made.labels
        assert dataset.classes == made.classes
        assert [_pictures(dataset, number) for number in range(len(dataset))] == made.pictures
    assert first.digest == kept.digest
    case.change(folder)
    assert penstock.open(made.path).digest != first.digest


def a_clip_has_as_many_frames_as_the_index_says(case: Case, folder: Path) -> None:
    made = case.made(folder / "source")
    dataset = _packed(case, made, folder / "c.pen")
    (field_,) = dataset.fields
    frames = dataset.column(field_).frames
    first = np.arange(len(made.pictures) + 1) if frames is None else frames.first
    assert [after - before for before, after in pairwise(first.tolist())] == list(map(len, made.pictures))


CHECKS = (
    samples_are_listed_in_order_with_their_labels,
    what_is_read_is_what_was_written,
    packing_keeps_every_byte_if_asked_and_every_pixel_if_not,
    a_clip_has_as_many_frames_as_the_index_says,
    another_process_can_read_it,
    its_digest_is_another_one_when_any_item_is,
    an_item_that_is_lost_is_named_and_the_others_are_packed,
    it_takes_for_its_own_what_is_and_nothing_else,
    an_option_that_it_does_not_know_is_refused,
    opened_in_place_it_is_the_same_as_packed,
)
