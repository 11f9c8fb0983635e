"""What one thread has worked out for an image it may use for the next: tables and weights. No image shows that."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.images import photo
from tests.native.calls import decode

from penstock import _native

SIZES = ((64, 48), (65, 47), (48, 64))


def encoded(number: int) -> bytes:
    """A JPEG, another for each number: of its size, its chroma, its tables, in tiles or not."""
    sink = io.BytesIO()
    image = Image.fromarray(photo(*SIZES[number % 3], seed=number))
    is_grey = number % 7 == 3
    options = {"quality": 60 + number % 3 * 15, "subsampling": number % 2 * 2, "optimize": number % 4 < 2}
    (image.convert("L") if is_grey else image).save(sink, "JPEG", **({} if is_grey else options))
    return sink.getvalue() if number % 5 else _native.tile_jpeg(sink.getvalue())[0]


IMAGES = [encoded(number) for number in range(24)]
corners = st.tuples(st.integers(0, 16), st.integers(0, 16), st.integers(17, 47), st.integers(17, 47))
sizes = st.sampled_from([(16, 16), (31, 31), (5, 40)])
calls = st.tuples(st.integers(0, len(IMAGES) - 1), corners, st.booleans(), sizes)


def decoded(call):
    """One image, decoded in the calling thread."""
    number, corner, flip, size = call
    return decode([IMAGES[number]], regions=[corner], clips=[corner], flips=[int(flip)], size=size)


@settings(max_examples=60)
@given(st.lists(calls, min_size=2, max_size=8))
def test_an_image_shows_the_same_whatever_the_thread_has_decoded_before(drawn):
    for call in drawn + drawn[:1]:
        after_others = decoded(call)
        with ThreadPoolExecutor(1) as thread:
            fresh = thread.submit(decoded, call).result()
        assert after_others.status == fresh.status == {}
        assert np.array_equal(after_others.pixels, fresh.pixels)
