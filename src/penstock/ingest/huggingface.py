"""Hugging Face datasets on disk: what `save_to_disk` and `to_parquet` write, and Parquet folders as the Hub has them.

    dataset_dict.json            a folder per split, each with
    state.json, data-*.arrow     the files of one split, in the order that state.json says
    data/train-00000-of-00002.parquet, train/0000.parquet, one.parquet

The first column of images is packed: a struct {bytes, path}, or bytes, by the name image or img if there is one. The
label is the column `label`, or the one that `label_name` says, or the only one of classes; its classes are those that
the dataset names, and -1, which means no label there, is reported. Other columns that hold single values are kept as
labels of their own names; what else there is (other images, boxes) is passed over, and the report says so.

Where there are several splits, `subset` says which one. Keys are the images' file names where all rows have one and no
two the same, else the rows' numbers.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.errors import SourceError, StorageError, UsageError
from penstock.ingest.duplicates import Chosen
from penstock.ingest.kind import Kind
from penstock.ingest.label_table import is_label, with_classes, with_label
from penstock.ingest.source import NOT_AN_IMAGE, UNLABELLED, Skipped, Source, shown
from penstock.ingest.splits import Split, is_table, splits_at
from penstock.ingest.table_images import TableImages, look, schema_of
from penstock.shard.keys import unique_keys

if TYPE_CHECKING:
    from penstock.ingest.kind import Options

__all__ = ["HUGGINGFACE"]

_NAMES = ("image", "img")


def _listed(path: str, options: Options) -> Source:
    """List the rows of a split."""
    split = _chosen(path, options.subset)
    schemas = [schema_of(os.path.join(split.root, file)) for file in split.files]
    column = _image_column(schemas[0])
    if column is None:
        got, expected = ", ".join(schemas[0].names), "a struct {bytes, path}, or binary"
        raise SourceError("no column holds images", file=shown(path), got=got, expected=expected)
    for file, schema in zip(split.files, schemas, strict=True):
        if {field.name: field.type for field in schema} != {field.name: field.type for field in schemas[0]}:
            got, expected = ", ".join(schema.names), f"the columns of {shown(split.files[0])}"
            raise SourceError("the files of a split differ", file=shown(file), got=got, expected=expected)
    labels, passed = _label_columns(schemas[0], column)
    files = [look(split.root, file, column, labels) for file in split.files]
    names = [name for file in files for name in file.names]
    if not names:
        raise SourceError("the dataset has no rows", file=shown(path))
    keys, suffixes = _keys(names)
    items = TableImages(
        split.root,
        tuple(group for file in files for group in file.groups),
        column,
        tuple(file.stamp for file in files),
        np.concatenate([file.sizes for file in files]),
        suffixes,
    )
    features = _features(schemas[0])
    label = _label(labels, features, options.label_name)
    table = with_label(pa.concat_tables([file.labels for file in files]), label, path)
    named = None if label is None else _class_names(features.get(label))
    source = Source("huggingface", {"image": items}, keys, table, named, tuple(passed))
    if named is not None:
        return _labelled(source, path)
    numbered, classes = with_classes(table.combine_chunks(), path, options.labels)
    return replace(source, labels=numbered, classes=classes)


def _labelled(source: Source, path: str) -> Source:
    """Leave out the rows whose class is -1; the class of all others is one of the dataset's."""
    assert source.classes is not None
    numbers = np.asarray(source.labels.column("label").fill_null(-1).cast(pa.int64()))
    if numbers.max() >= len(source.classes) or numbers.min() < -1:
        got, expected = f"{numbers.min()} to {numbers.max()}", f"0 to {len(source.classes) - 1}"
        raise SourceError("labels that are no class", file=shown(path), got=got, expected=expected)
    kept = np.flatnonzero(numbers >= 0)
    if not len(kept):  # a split for testing
        return replace(source, labels=source.labels.drop_columns(["label"]), classes=None)
    labels, _ = with_classes(source.labels.take(pa.array(kept)).combine_chunks(), path)
    if len(kept) == len(source):
        return replace(source, labels=labels)
    items = source.fields["image"]
    lacking = [Skipped(items.name(row), UNLABELLED, "its label is -1") for row in np.flatnonzero(numbers < 0).tolist()]
    return replace(
        source,
        fields={"image": Chosen(items, kept)},
        keys=[source.keys[row] for row in kept.tolist()],
        labels=labels,
        skipped=(*source.skipped, *lacking),
    )


def _chosen(path: str, subset: str | None) -> Split:
    splits = splits_at(path)
    if subset is None and len(splits) == 1:
        return next(iter(splits.values()))
    if subset not in splits:
        what = "no such split" if subset is not None else "the dataset has several splits"
        got, hint = None if subset is None else repr(subset), "say which one: --subset (subset=…)"
        raise UsageError(what, file=shown(path), got=got, expected=" or ".join(splits), hint=hint)
    return splits[subset]


def _is_image(field: pa.Field) -> bool:
    kind = field.type
    if pa.types.is_struct(kind):
        return {"bytes", "path"} <= {kind.field(at).name for at in range(kind.num_fields)}
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _image_column(schema: pa.Schema) -> str | None:
    found = [field.name for field in schema if _is_image(field)]
    return next((name for name in (*_NAMES, *found) if name in found), None)


def _features(schema: pa.Schema) -> dict[str, Any]:
    """Give what the dataset says of its columns, if it says anything."""
    try:
        features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return {}
    return features if isinstance(features, dict) else {}


def _label_columns(schema: pa.Schema, image: str) -> tuple[list[str], list[Skipped]]:
    """Name the columns that can be labels; say which ones are passed over."""
    labels, passed = list[str](), list[Skipped]()
    for column in schema:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if is_label(kind) or pa.types.is_large_string(kind):
            labels.append(column.name)
        elif column.name != image:
            why = f"holds {column.type}, and is neither the column of images nor a label"
            passed.append(Skipped(f"the column {shown(column.name)}", NOT_AN_IMAGE, why, is_expected=True))
    return labels, passed


def _label(labels: list[str], features: dict[str, Any], label_name: str | None) -> str | None:
    """Say which column is the label: the one that was said, `label`, or the only one of classes."""
    if label_name is not None or "label" in labels:
        return label_name or "label"
    classes = [name for name in labels if _class_names(features.get(name)) is not None]
    return classes[0] if len(classes) == 1 else None


def _class_names(feature: Any) -> tuple[str, ...] | None:
    is_class = isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    names = feature.get("names") if is_class else None
    return tuple(map(str, names)) if isinstance(names, list) else None


def _keys(names: list[str | None]) -> tuple[list[str], list[str]]:
    """Make keys of file names, or else of numbers. (keys, suffixes)."""
    bases = [name.rpartition("/")[2] for name in names if name]
    if len(set(bases)) == len(names):
        return unique_keys(bases)
    suffixes = ["" if not name else os.path.splitext(name)[1] for name in names]
    return [f"{row:08d}" for row in range(len(names))], suffixes


def _detects(path: str) -> bool:
    """Whether there are tables here, and the first has a column of images."""
    if not is_table(path) and not os.path.isdir(path):
        return False
    try:
        first = next(iter(splits_at(path).values()))
        return _image_column(schema_of(os.path.join(first.root, first.files[0]))) is not None
    except (SourceError, UsageError, StorageError):
        return False


HUGGINGFACE = Kind(
    name="huggingface",
    what="a Hugging Face dataset of images on disk (save_to_disk, or Parquet files); --subset",
    detects=_detects,
    listed=_listed,
    options=frozenset({"labels", "label_name", "subset"}),
)
