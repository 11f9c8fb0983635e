"""A record of a foreign file: one image and its labels, in whatever it is wrapped.

    image         the image's bytes alone
    pickle        (image, label), [array of the image's bytes, label], {name: value, …}, in pickle,
    messagepack   the same in MessagePack with msgpack-numpy's arrays,
    arrow         the same by pyarrow.serialize
    datum         Caffe's Datum

Nothing in a file says which, but its records can be told apart: one form is found from the first record that has one,
and then all are of that form. Of several values beside the image the first is `label`, the others `label_2`, …
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.decode.image import sniff
from penstock.errors import SourceError
from penstock.ingest.arrow_serialized import is_arrow_serialized, read_arrow_serialized
from penstock.ingest.datum import Datum, read_datum
from penstock.ingest.messagepack import read_messagepack
from penstock.ingest.pickled import read_pickle
from penstock.ingest.reencode import encode_png
from penstock.ingest.unwrapped import Array, Blob, broken, plain

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WRAPPED", "Record", "form_of", "record_of", "value_of"]


@dataclass(frozen=True, slots=True)
class Record:
    """One record, unwrapped."""

    picture: Blob | Datum
    labels: dict[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> tuple[int, int] | None:
        """Offset and length of the encoded image in the record; None where it has to be made."""
        if isinstance(self.picture, Datum) or self.picture.offset is None:
            return None
        return self.picture.offset, len(self.picture)

    def image(self) -> bytes:
        """Give the encoded image: as it is, or of pixels a PNG."""
        return encode_png(self.picture.pixels()) if isinstance(self.picture, Datum) else bytes(self.picture)


_READERS: dict[str, Callable[[bytes | memoryview], Any]] = {
    "pickle": read_pickle,
    "arrow": read_arrow_serialized,
    "messagepack": read_messagepack,
}


WRAPPED = frozenset(_READERS)  # the forms that hold values of any kind


def form_of(data: bytes | memoryview) -> str:
    """Say which form a record has. SourceError where it has none."""
    if sniff(data) is not None:
        return "image"
    start = bytes(data[:2])
    if len(start) == 2 and start[0] == 0x80 and 2 <= start[1] <= 5:
        return "pickle"
    if is_arrow_serialized(data):
        return "arrow"
    for form, read in (("datum", read_datum), ("messagepack", read_messagepack)):
        try:
            read(data)
        except SourceError:
            continue
        return form
    if bytes(data[-1:]) == b".":  # protocols 0 and 1 of pickle have no beginning of their own, but this end
        return "pickle"
    expected = "an image, a pickle, MessagePack, pyarrow.serialize's, or a Datum"
    raise broken("the value is of no known form", got=f"it begins {bytes(data[:12]).hex(' ')}", expected=expected)


def value_of(data: bytes | memoryview, form: str) -> Any:
    """Unwrap a value that is no record: a list of keys, a number. SourceError where it is none."""
    if form not in WRAPPED:
        raise broken("the value is wrapped into nothing that is known", got=f"it begins {bytes(data[:12]).hex(' ')}")
    return plain(_READERS[form](data))


def record_of(data: bytes | memoryview, form: str) -> Record:
    """Unwrap a record of a form. SourceError where it is broken, or holds no image or several."""
    if form == "image":
        if sniff(data) is None:
            raise broken("the value is no image, as others are", got=f"it begins {bytes(data[:12]).hex(' ')}")
        return Record(Blob(data, 0))
    if form == "datum":
        datum = read_datum(data)
        is_image = datum.is_encoded or sniff(datum.data.data) is not None
        return Record(datum.data if is_image else datum, {"label": datum.label})
    found = _READERS[form](data)
    named = (
        found.items() if isinstance(found, dict) else enumerate(found if isinstance(found, (list, tuple)) else [found])
    )
    pictures: list[Blob] = []
    labels: dict[str, Any] = {}
    for name, value in named:
        blob = value.blob if isinstance(value, Array) and value.is_bytes else value
        if isinstance(blob, Blob) and sniff(blob.data) is not None:
            pictures.append(blob)
        elif isinstance(value, Array) and value.shape and len(value.shape) > 1:
            got = f"an array of {value.dtype} {list(value.shape)}"
            raise broken("the record holds decoded pixels, not an encoded image", got=got)
        else:
            one = bytes(value).decode("utf-8", "replace") if isinstance(value, Blob) else plain(value)
            labels[_label_name(name, len(labels))] = one.numbers() if isinstance(one, Array) else one
    if len(pictures) != 1:
        what = "the record has no encoded image in it" if not pictures else "the record has several images in it"
        raise broken(what, got=f"{len(pictures)} images and {len(labels)} other values", expected="one image")
    return Record(pictures[0], labels)


def _label_name(name: Any, before: int) -> str:
    if isinstance(name, str):
        return name
    return "label" if before == 0 else f"label_{before + 1}"
