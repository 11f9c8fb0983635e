"""Every kind of source that there is, the one at a path, and its list of samples."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.ingest.activitynet import ACTIVITYNET
from penstock.ingest.frames_20bn import FRAMES_20BN
from penstock.ingest.gulp import GULP
from penstock.ingest.huggingface import HUGGINGFACE
from penstock.ingest.image_folder import IMAGE_FOLDER
from penstock.ingest.image_list import IMAGE_LIST
from penstock.ingest.kind import Options
from penstock.ingest.kinetics import KINETICS
from penstock.ingest.lmdb import LMDB
from penstock.ingest.loose_objects import OBJECT_LIST
from penstock.ingest.source import shown
from penstock.ingest.table import TABLE
from penstock.ingest.video_folder import VIDEO_FOLDER
from penstock.ingest.videos_20bn import VIDEOS_20BN
from penstock.ingest.web_tars import WEBDATASET
from penstock.storage.location import is_url

if TYPE_CHECKING:
    from penstock.ingest.kind import Kind
    from penstock.ingest.source import Source

__all__ = ["KINDS", "in_place_kind", "kind_at", "kind_named", "open_source"]

KINDS: tuple[Kind, ...] = (  # looked at in this order: the most particular first
    FRAMES_20BN,
    VIDEOS_20BN,
    ACTIVITYNET,
    KINETICS,
    GULP,
    LMDB,
    WEBDATASET,
    OBJECT_LIST,
    IMAGE_LIST,
    HUGGINGFACE,
    TABLE,
    VIDEO_FOLDER,
    IMAGE_FOLDER,
)


def open_source(path: str, kind: str | None = None, options: Options | None = None) -> Source:
    """List a source: of the kind named, else of the kind that it plainly is."""
    options = options or Options()
    found = kind_at(path) if kind is None else kind_named(kind)
    options.check(found, path)
    return found.listed(path, options)


def in_place_kind(path: str) -> Kind | None:
    """Give the kind of packed files that others made at a path, if they are plainly of one."""
    return next((kind for kind in KINDS if kind.seen is not None and kind.detects(path)), None)


def kind_named(name: str) -> Kind:
    """Give the kind of this name."""
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise UsageError("no such kind of source", got=repr(name), expected=", ".join(kind.name for kind in KINDS))


def kind_at(path: str) -> Kind:
    """Say what kind of source is at a path. A folder that is nothing else is one of images, or an error of theirs."""
    for kind in KINDS:
        if kind.detects(path):
            return kind
    if not is_url(path) and not os.path.exists(path):
        raise UsageError("there is nothing here", file=shown(path), expected="a dataset, or a source of one")
    expected = ", ".join(kind.name for kind in KINDS)
    hint = "say what it is with --source (kind=…); `penstock pack --kinds` tells what each of them is"
    raise UsageError(
        "there is no dataset here, nor a source that is known", file=shown(path), expected=expected, hint=hint
    )
