"""Values of the readers that unwrap records, as ordinary Python, to compare with what a real library made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.ingest.unwrapped import Array, Blob

# What records are made of: numbers, text, bytes and arrays in lists, tuples and dicts.
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.binary(max_size=300)
)
ARRAYS = st.builds(
    lambda kind, shape, seed: np.random.default_rng(seed).integers(0, 100, shape).astype(kind),
    st.sampled_from(["u1", "<i2", ">i4", "<i8", "<f4", ">f8", "?"]),
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.integers(0, 9),
)
VALUES = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=5).filter(lambda name: name not in {"nd", "complex"}), inner, max_size=4)
    ),
    max_leaves=10,
)


def ordinary(value: Any) -> Any:
    """A value as Python and NumPy have it; tuples as lists, arrays with their dtype."""
    if isinstance(value, Blob):
        return bytes(value)
    if isinstance(value, Array):
        return ("array", np.dtype(value.dtype).name, list(value.shape), value.numbers())
    if isinstance(value, (np.ndarray, np.generic)):
        return ("array", value.dtype.name, list(value.shape), value.tolist())
    if isinstance(value, (list, tuple)):
        return [ordinary(one) for one in value]
    if isinstance(value, dict):
        return {key: ordinary(one) for key, one in value.items()}
    return value


def blobs(value: Any) -> list[Blob]:
    """All bytes in a value."""
    if isinstance(value, Blob):
        return [value]
    if isinstance(value, Array):
        return [value.blob]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [blob for one in inside for blob in blobs(one)]


def is_read_or_refused(read: Any, data: Any) -> bool:
    """Whether a reader gives a value, or an error of ours that says what is wrong. Any other error goes on."""
    try:
        read(data)
    except SourceError as error:
        return error.what != ""
    return True


def damaged(data: bytes, draw: Any) -> bytes:
    """Data with some bits flipped, or a part missing."""
    made = bytearray(data)
    for _ in range(draw(st.integers(0, 4))):
        made[draw(st.integers(0, len(made) - 1))] ^= 1 << draw(st.integers(0, 7))
    start = draw(st.integers(0, len(made)))
    return bytes(made[:start] + made[start + draw(st.sampled_from([0, 0, 1, 4, len(made)])) :])
