"""`penstock info`: what a dataset is, what it takes on disk and, if asked, what an order of it is worth."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.access import access_options
from penstock.cli.order import order_lines, order_options, order_summary
from penstock.cli.quantities import shown_bytes, shown_counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from penstock.dataset import Dataset
    from penstock.ingest.source import Skipped, Source
    from penstock.packed import PackedIndex
    from penstock.storage.location import Access

__all__ = ["info"]

LISTED = 10  # files named one by one; --json has all


@click.command()
@click.argument("dataset", type=click.Path())
@order_options
@click.option("--cache", type=click.Path(), help="Say what the cache in this folder was worth.")
@access_options
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def info(*, dataset: str, cache: str | None, access: Access | None, as_json: bool, **options: Any) -> None:
    """Summarise DATASET: samples, fields, frames of clips, labels, and what it takes on disk, part by part.

    A source that has to be packed before it is opened (`penstock pack --kinds`) is summed up, too. With --order also
    what that order is worth beside a uniform shuffle, by a sample of its batches. Nothing is read but manifest and
    index (files are looked at for their sizes, a folder of images is listed); `penstock verify` checks the bytes.
    """
    from penstock.opening import open_dataset
    from penstock.storage.cache import Cache, Shelf

    source = _source_only(dataset) if cache is None and options["order"] is None else None
    if source is not None:
        found = source_summary(dataset, source)
        click.echo(json.dumps(found, indent=1) if as_json else _text(found))
        return
    opened = open_dataset(dataset, access=access)
    found = _kind(dataset, opened) | summary(opened)
    if cache is not None:
        found["cache"] = Shelf.summary(Cache(cache), opened.digest)
    order = order_summary(opened, **options)
    if order is not None:
        found["order"] = order
    click.echo(json.dumps(found, indent=1) if as_json else _text(found))


def _kind(path: str, dataset: Dataset) -> dict[str, Any]:
    """Say what is opened: which kind of files, and how many."""
    import numpy as np

    from penstock.ingest.kinds import in_place_kind, kind_at
    from penstock.ingest.source import shown

    if dataset.packed is not None:
        return {"kind": "packed"}
    kind = in_place_kind(path)
    if kind is None:
        return {"kind": kind_at(path).name}
    sizes = dataset.file_bytes
    assert sizes is not None
    names = [shown(name) for name in dataset.names(np.arange(dataset.file_count, dtype=np.int32))]
    return {"kind": kind.name, "files": {"count": len(names), "bytes": int(sizes.sum()), "names": names}}


def summary(dataset: Dataset) -> dict[str, Any]:
    """Give the summary as JSON's values."""
    from penstock.ingest.source import shown
    from penstock.sizes import sizes_of

    sizes = sizes_of(dataset)
    found: dict[str, Any] = {
        "path": shown(dataset.path),
        "samples": len(dataset),
        "fields": {field: _formats(dataset, field) for field in dataset.fields},
        "labels": {name: str(dataset.schema.field(name).type) for name in dataset.label_names},
        "classes": None if dataset.classes is None else len(dataset.classes),
        "missing": len(dataset.lost),
        "left_out": len(dataset.skipped),
        "left_out_files": [item.as_dict() for item in sorted(dataset.skipped, key=_unexpected_first)],
        "on_disk": None if sizes is None else sizes.as_dict(),
    }
    if dataset.packed is not None:
        found |= _sizes(dataset.packed)
    return found


def _source_only(path: str) -> Source | None:
    """List a source that can be packed and not opened, if that is what there is."""
    from penstock.ingest.image_folder import IMAGE_FOLDER
    from penstock.ingest.items import Files
    from penstock.ingest.kind import Options
    from penstock.ingest.kinds import KINDS
    from penstock.ingest.loose_objects import OBJECT_LIST

    kind = next((kind for kind in KINDS if kind.detects(path)), IMAGE_FOLDER)
    if kind.seen is not None or kind.is_of_files or kind is OBJECT_LIST:
        return None
    source = kind.listed(path, Options())
    return None if all(isinstance(items, Files) for items in source.fields.values()) else source


def source_summary(path: str, source: Source) -> dict[str, Any]:
    """Sum up a source that is not a dataset yet."""
    from penstock.ingest.items import FrameFiles
    from penstock.ingest.source import shown
    from penstock.sizes import sizes_of_source

    fields: dict[str, Any] = {}
    for name, items in source.fields.items():
        formats = {"not opened": len(items)}
        fields[name] = {"formats": formats, "bytes": int(items.sizes.sum()), "median_size": None, "largest_size": None}
        if isinstance(items, FrameFiles):
            fields[name]["frames"] = _frames(items.first)
    sizes = sizes_of_source(source)
    return {
        "path": shown(path),
        "samples": len(source),
        "fields": fields,
        "labels": {name: str(source.labels.schema.field(name).type) for name in source.labels.column_names},
        "classes": None if source.classes is None else len(source.classes),
        "left_out": len(source.skipped),
        "left_out_files": [item.as_dict() for item in sorted(source.skipped, key=_unexpected_first)],
        "on_disk": None if sizes is None else sizes.as_dict(),
    }


def _frames(first: NDArray[np.int64]) -> dict[str, Any] | None:
    """Sum up how many frames clips have, of where each one's begin."""
    import numpy as np

    counts = np.diff(first)
    if not len(counts):
        return None
    return {
        "all": int(counts.sum()),
        "fewest": int(counts.min()),
        "median": float(np.median(counts)),
        "most": int(counts.max()),
    }


def _unexpected_first(item: Skipped) -> tuple[bool, str]:
    return item.is_expected, item.name


def _formats(dataset: Dataset, field: str) -> dict[str, Any]:
    import numpy as np

    from penstock.types import UNREAD

    column = dataset.column(field)
    known = column.format != (column.formats.index(UNREAD) if UNREAD in column.formats else -1)
    widths, heights = (side[known] for side in (column.width, column.height))
    counts = np.bincount(column.format, minlength=len(column.formats)).tolist()
    frames = {} if column.frames is None else {"frames": _frames(column.frames.first)}
    return {
        "formats": {name: count for name, count in zip(column.formats, counts, strict=True) if count},
        "bytes": int(column.length.sum()),
        "median_size": [int(np.median(widths)), int(np.median(heights))] if widths.size else None,
        "largest_size": [int(widths.max()), int(heights.max())] if widths.size else None,
        **frames,
    }


def _sizes(index: PackedIndex) -> dict[str, Any]:
    """Give what a packed dataset takes on disk, part by part."""
    manifest = index.manifest
    payload = sum(summary["bytes"] for summary in manifest.fields.values())
    shards = sum(shard.bytes for shard in manifest.shards)
    source = manifest.provenance.get("source", {}).get("bytes")
    return {
        "shards": len(manifest.shards),
        "bytes": {
            "payload": payload,
            "tar_and_labels": shards - payload,
            "index": manifest.index.bytes,
            "total": shards + manifest.index.bytes,
            "source": source,
        },
        "payload_change_bytes": None if source is None else payload - source,
        "outcomes": manifest.provenance.get("outcomes", {}),
        "pack": manifest.pack,
    }


def _text(found: dict[str, Any]) -> str:
    lines = [f"{found['path']}: {found['samples']:,} samples"]
    if "files" in found:
        files = found["files"]
        lines.append(f"  kind     {found['kind']}: {files['count']:,} files, {shown_bytes(files['bytes'])}")
    for name, field in found["fields"].items():
        line = f"  {name:8} {shown_counts(field['formats'])}; {shown_bytes(field['bytes'])}"
        if field["median_size"] is not None:
            (width, height), (widest, highest) = field["median_size"], field["largest_size"]
            line += f"; median {width}x{height}, at most {widest} wide and {highest} high"
        lines.append(line)
        if field.get("frames"):
            told = "{all:,} frames; of a clip {fewest:,} to {most:,}, median {median:g}".format(**field["frames"])
            lines.append(f"  {'':8} {told}")
    labels = ", ".join(f"{name} ({kind})" for name, kind in found["labels"].items()) or "none"
    lines.append(f"  labels   {labels}" + (f"; {found['classes']:,} classes" if found["classes"] is not None else ""))
    lines += _disk_lines(found)
    if "bytes" in found:
        sizes, total = found["bytes"], max(found["bytes"]["total"], 1)
        if sizes["source"]:
            change = found["payload_change_bytes"]
            verb = "cost" if change > 0 else "saved"
            lines.append(
                f"  source   {shown_bytes(sizes['source'])}: rewriting {verb} {shown_bytes(abs(change))} "
                f"({change / sizes['source']:+.1%}), everything together {total / sizes['source'] - 1:+.1%}"
            )
        lines.append(f"  packed   {shown_counts(found['outcomes'])}")
    lines += _left_out_lines(found)
    if "cache" in found:
        lines += _cache_lines(found["cache"])
    if "order" in found:
        lines += order_lines(found["order"])
    return "\n".join(lines)


def _left_out_lines(found: dict[str, Any]) -> list[str]:
    """Say what is no sample, and whether it should be one."""
    lines = []
    if found.get("missing"):
        lines.append(f"  missing  {found['missing']:,}: a loader stops at them, unless told on_error='skip'")
    if found["left_out"]:
        lines.append(f"  left out {found['left_out']:,} files that are no samples:")
        lines += ["    {name}: {outcome}: {why}".format(**item) for item in found["left_out_files"][:LISTED]]
        more = found["left_out"] - LISTED
        lines += [f"    and {more:,} more: see --json"] if more > 0 else []
    return lines


def _disk_lines(found: dict[str, Any]) -> list[str]:
    """Say what it takes: of files here also what the file system adds, else what is known of a packed dataset."""
    sizes, in_shards = found["on_disk"] or found.get("bytes"), f" in {found.get('shards', 0):,} shards"
    if sizes is None:
        return []
    files = f" in {sizes['files']:,} files" if "files" in sizes else in_shards
    names = {"padding": "tar and labels"} if "bytes" in found else {}
    parts = ("payload", "padding", "tar_and_labels", "index", "slack", "folders")
    return [
        f"  on disk  {shown_bytes(sizes['total'])}{files}",
        *(
            f"    {names.get(part, part.replace('_', ' ')):15} {shown_bytes(sizes[part]):>8}"
            f"  {sizes[part] / max(sizes['total'], 1):6.1%}"
            for part in parts
            if part in sizes
        ),
    ]


def _cache_lines(found: dict[str, Any]) -> list[str]:
    lines = [
        f"  cache    {shown_bytes(found['filled_bytes'])} of {shown_bytes(found['kept_bytes'])} in {found['folder']}"
    ]
    asked = sum(found.get(part, 0) for part in ("hit_bytes", "missed_bytes", "passed_bytes"))
    if asked:
        parts = (("found", "hit_bytes"), ("fetched for it", "missed_bytes"), ("no room for", "passed_bytes"))
        told = ", ".join(f"{found[part] / asked:.1%} {what}" for what, part in parts)
        lines.append(f"    asked for {shown_bytes(asked)}: {told}; {found['damaged']:,} damaged blocks")
    return lines
