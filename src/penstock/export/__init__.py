"""Gives a dataset back, in a form that others read: files in folders, a directory of GulpIO, tars of WebDataset.

    samples.py       what is read, sample by sample, checksums verified
    target.py        what every form does with them
    folder.py, gulp.py, webdataset.py    the forms

Bytes are copied, never encoded again: a stored JPEG is written as it is stored (tiled, which changes no pixel). Any
dataset will do, packed or opened in place.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from penstock.dataset import Dataset
from penstock.errors import UsageError
from penstock.export.folder import FolderTarget
from penstock.export.gulp import GulpTarget
from penstock.export.samples import exported
from penstock.export.webdataset import WebDatasetTarget
from penstock.ingest.source import shown
from penstock.opening import open_dataset
from penstock.storage.location import is_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.export.target import Target
    from penstock.storage.location import Access

__all__ = ["ExportReport", "export"]


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written."""

    path: str
    samples: int
    files: int  # that hold pictures
    bytes: int  # of pictures

    def as_dict(self) -> dict[str, Any]:
        """Give the report for JSON."""
        return {**asdict(self), "path": shown(self.path)}


def export(
    dataset: Dataset | str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    to: Literal["folder", "gulp", "webdataset"] = "folder",
    videos_per_chunk: int | None = None,
    shard_bytes: int | None = None,
    extend: bool = False,
    force: bool = False,
    access: Access | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ExportReport:
    """Write a dataset's files below a folder. `dataset` may be a URL, which `access` says how to get at.

    `to` is what to write: "folder" (files under their original names), "gulp" (a directory of GulpIO, with so many
    items per chunk, 100 if nothing is said; `extend` goes on behind the chunks that are there), or "webdataset" (tars
    of at most `shard_bytes`, 256 MiB if nothing is said).

    The folder must be new or empty, unless it is extended, or `force` allows replacing files in it.
    """
    opened = dataset if isinstance(dataset, Dataset) else open_dataset(dataset, access=access)
    folder = os.fspath(destination)
    for said, value, form in (
        ("videos_per_chunk", videos_per_chunk, "gulp"),
        ("extend", extend or None, "gulp"),
        ("shard_bytes", shard_bytes, "webdataset"),
    ):
        if value is not None and to != form:
            raise UsageError(f"{said} is about another form", got=repr(to), expected=f"to={form!r}")
    _check_destination(opened, folder, extend=extend, force=force)
    target: Target
    if to == "folder":
        target = FolderTarget(opened, folder, force=force)
    elif to == "gulp":
        target = GulpTarget(opened, folder, videos_per_chunk, extend=extend, force=force)
    elif to == "webdataset":
        target = WebDatasetTarget(opened, folder, shard_bytes, force=force)
    else:
        raise UsageError("no such form", got=repr(to), expected="'folder', 'gulp' or 'webdataset'")
    try:
        for number, sample in enumerate(exported(opened)):
            target.write(sample)
            if progress is not None:
                progress(number + 1, len(opened))
        target.finish()
    except BaseException:
        target.discard()
        raise
    return ExportReport(folder, len(opened), target.files, target.bytes)


def _check_destination(opened: Dataset, folder: str, *, extend: bool, force: bool) -> None:
    if extend and force:
        raise UsageError("extend leaves what is there, force replaces it", expected="one of the two")
    if is_url(folder):
        hint = "export into a folder and copy that, or pack into the store: `penstock pack`"
        raise UsageError("an export is written into a folder of this machine", file=shown(folder), hint=hint)
    if os.path.realpath(folder) == os.path.realpath(opened.path):
        hint = "choose another folder"
        raise UsageError("the destination is the dataset itself", file=shown(folder), hint=hint)
    if os.path.lexists(folder) and not force and (not os.path.isdir(folder) or (os.listdir(folder) and not extend)):
        hint = "choose another folder, or replace files in it with --force (force=True)"
        raise UsageError("the destination is not empty", file=shown(folder), hint=hint)
